"""The private members of libraries that our code uses: listed, there, and reported."""

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.house import repository
from tests.house.repository import PACKAGES, ROOT

MEMBERS = {
    "channels-redis": [
        "channels_redis.pubsub:RedisPubSubChannelLayer._get_layer",
        "channels_redis.pubsub:RedisPubSubLoopLayer._get_group_channel_name",
        "channels_redis.pubsub:RedisPubSubLoopLayer._get_shard",
        "channels_redis.pubsub:RedisPubSubLoopLayer._shards",
        "channels_redis.pubsub:RedisSingleShardConnection._ensure_redis",
        "channels_redis.pubsub:RedisSingleShardConnection._pubsub",
        "channels_redis.pubsub:RedisSingleShardConnection._redis",
    ],
    "Django": [
        "django.db.backends.postgresql.base:DatabaseWrapper._configure_connection",
        "django.db.backends.postgresql.base:DatabaseWrapper._connection_pools",
        "django.db.models:Model._state",
        "django.db.models:QuerySet._clone",
        "django.db.models:QuerySet._fetch_all",
        "django.db.models:QuerySet._filter_or_exclude",
        "django.db.models:QuerySet._hints",
        "django.db.models:QuerySet._result_cache",
    ],
    "httpx": ["httpx:AsyncHTTPTransport._pool"],
    "psycopg": [
        "psycopg.errors:_WaitTimeout",
        "psycopg:BaseConnection._pool",
        "psycopg.client_cursor:ClientCursorMixin._execute_send",
    ],
    "python": ["re:_parser"],
}
"""By distribution: ``module:Class.member``."""

DOCUMENTED = {
    "_asdict", "_replace",  # of named tuples
    "_base_manager", "_default_manager", "_meta",  # of Django's models
    "_current_frames", "_exit",  # of sys and os
}  # fmt: skip
"""What begins with an underscore and is in its library's reference all the same."""

HELP = "write it without the private member, or list it with its report"
PRIVATE = re.compile(r"_[a-zA-Z]\w*")


def listed() -> set[str]:
    """The names of all members in the list."""
    return {re.split("[:.]", member)[-1] for members in MEMBERS.values() for member in members}


def uses(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each private name that a file reads, sets or imports, with the text of what it is of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node.value), node.attr
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = str(node.module)
            yield from ((module, name) for name in module.split("."))
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and len(node.args) > 1 and _is_getattr(node.func):
            yield ast.unparse(node.args[0]), str(getattr(node.args[1], "value", ""))
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith("vars("):
            yield ast.unparse(node.value), str(getattr(node.slice, "value", ""))


def _is_getattr(called: ast.expr) -> bool:
    return isinstance(called, ast.Name) and called.id in {"getattr", "setattr", "hasattr"}


def defined(tree: ast.AST) -> set[str]:
    """The names that a file binds itself: functions, attributes of ``self``, variables."""
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound |= {node.attr} if ast.unparse(node.value) in {"self", "cls"} else set()
    return bound


def foreign_uses(sources: dict[str, str]) -> set[tuple[str, str]]:
    """Where and which: private names that neither the file nor a class it may derive from binds.

    What hangs on ``self`` may be bound in any of our files, what hangs on another object in the
    same file: our own code does not reach into a class of another file.
    """
    trees = {path: ast.parse(source) for path, source in sources.items()}
    anywhere = set().union(*map(defined, trees.values()))
    return {
        (path, name)
        for path, tree in trees.items()
        for owner, name in uses(tree)
        if PRIVATE.fullmatch(name) and name not in DOCUMENTED
        if name not in (anywhere if owner in {"self", "cls"} else defined(tree))
    }


def shipped() -> dict[str, str]:
    """The text of each source file of the host and its client."""
    paths = [path for path in repository.files() if path.suffix == ".py"]
    return {
        path.as_posix(): (ROOT / path).read_text("utf-8")
        for path in paths
        if path.parts[0] in PACKAGES
    }


def overrides(module: ModuleType, ours: set[str]) -> Iterator[tuple[str, str]]:
    """Private names that a class of ours binds or uses and a library's class above it does too.

    ``ours`` are the names bound in our files: what a metaclass adds to a class is left out.
    """
    for cls in vars(module).values():
        if inspect.isclass(cls) and cls.__module__ == module.__name__:
            names = {name for name in mentioned(cls) & ours if PRIVATE.fullmatch(name)}
            for base in filter(_is_foreign, cls.__mro__):
                common = (names - DOCUMENTED) & mentioned(base)
                yield from ((cls.__qualname__, name) for name in common)


def _is_foreign(cls: type) -> bool:
    top = cls.__module__.split(".")[0]
    return top not in PACKAGES and top not in sys.stdlib_module_names


@functools.cache
def mentioned(owner: Any) -> frozenset[str]:
    """The members of a class or module, and every attribute that its functions name."""
    names = set(vars(owner))
    for member in vars(owner).values():
        function = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(function) and inspect.isclass(owner):
            names |= _attributes(function.__code__)
    return frozenset(names)


def _attributes(code: CodeType) -> set[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    texts = {text for text in code.co_consts if isinstance(text, str)}  # of getattr
    return texts.union(code.co_names, *map(_attributes, inner))


def modules() -> Iterator[ModuleType]:
    """Every module of the host that can be imported here; migrations and commands aside."""
    for path in shipped():
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if ".migrations." not in name and not name.endswith("__main__"):
            yield importlib.import_module(name)


@pytest.mark.parametrize("member", sorted(itertools.chain(*MEMBERS.values())))
def test_private_members_are_there(member: str) -> None:
    module, _, path = member.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, name = path.split(".")
    for part in classes:
        owner = getattr(owner, part)
    assert name in mentioned(owner), member


def test_no_private_member_is_used_unlisted() -> None:
    unlisted = {use for use in foreign_uses(shipped()) if use[1] not in listed()}
    assert unlisted == set(), HELP


def test_no_private_member_is_overridden_unlisted() -> None:
    ours = set().union(*(defined(ast.parse(source)) for source in shipped().values()))
    uses = {use for module in modules() for use in overrides(module, ours)}
    assert {use for use in uses if use[1] not in listed()} == set(), HELP


def test_each_library_is_pinned() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for library in MEMBERS.keys() - {"python"}:
        pin = re.compile(rf"{library}(\[\w+\])?~=\d+\.\d+\.\d+")
        assert any(map(pin.fullmatch, table["dependencies"])), library


@pytest.mark.parametrize("library", MEMBERS)
def test_each_has_a_report(library: str) -> None:
    page = ROOT / "docs" / "upstream" / f"{library.lower()}.md"
    text = page.read_text("utf-8")
    for member in MEMBERS[library]:
        assert f"`{re.split('[:.]', member)[-1]}`" in text, member


@pytest.mark.parametrize(
    "source",
    [
        "def f(layer):\n    layer._planted()",
        "from library import _planted",
        "import os\nfrom library._planted import x",
        "def f(a):\n    return getattr(a, '_planted', None)",
        "def f(a):\n    return vars(a)['_planted']",
        "class A(B):\n    def f(self):\n        return self._planted",
    ],
)
def test_a_planted_use_is_found(source: str) -> None:
    assert ("runs/planted.py", "_planted") in foreign_uses({"runs/planted.py": source})


def test_a_planted_override_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = "import httpx\nclass A(httpx.AsyncClient):\n    def _send_single_request(self): ...\n"
    (tmp_path / "planted_override.py").write_text(planted)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("planted_override")
    assert ("A", "_send_single_request") in set(overrides(module, {"_send_single_request"}))
