"""The documentation names everything that can be set, called, answered or linked."""

import ast
import importlib
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver

from agui_host.protocol.errors import HostError, RunErrorCode
from tests.house import repository
from tests.house.repository import PACKAGES, ROOT

SETTINGS = ROOT / "agui_project" / "settings"
ROW = re.compile(r"^\| `([A-Z][A-Z_]+)` \| (.*?) \|", re.MULTILINE)
COMPUTED = object()
EMPTY = ast.Constant("")  # of ``env.text``, the only reader that needs no default
READERS = {
    f"env.{kind}"
    for kind in ("text", "flag", "number", "seconds", "duration", "entries", "choice", "parsed")
}


# --- settings


def settings_in_code() -> dict[str, Any]:
    """Every variable that the code reads, with its default where that is a plain value."""
    values: dict[str, Any] = {}
    modules = [ast.parse(path.read_text()) for path in sorted(SETTINGS.glob("*.py"))]
    for node in chain.from_iterable(map(ast.walk, modules)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS:
            name = ast.literal_eval(node.args[0])
            default = next((k.value for k in node.keywords if k.arg == "default"), EMPTY)
            values.setdefault(name, _value(default))
    pattern = re.compile(r'os\.environ(?:\.get\(|\[)"([A-Z_]+)"')
    for path in repository.files():
        if path.parts[0] in PACKAGES and path.suffix == ".py":
            for name in pattern.findall((ROOT / path).read_text()):
                values.setdefault(name, COMPUTED)
    return values


def _value(node: ast.expr) -> Any:
    try:
        return eval(ast.unparse(node), {"__builtins__": {}})  # noqa: S307  (10 * 1024 * 1024)
    except NameError:
        return COMPUTED


def as_documented(value: Any) -> str:
    """A default as a person would write it into the environment."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(value)
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = dict(ROW.findall((ROOT / "docs" / "settings.md").read_text()))
    known = settings_in_code()
    assert documented.keys() == known.keys()
    for name, value in known.items():
        if value is not COMPUTED:
            documented_default = documented[name].strip("`").replace("(empty)", "")
            assert documented_default == as_documented(value), name


# --- errors


def every_error() -> Iterator[type[HostError]]:
    """All classes of the family, wherever in the house they are defined."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for module_info in pkgutil.walk_packages(module.__path__, f"{package}."):
            if ".migrations" not in module_info.name:
                importlib.import_module(module_info.name)
    waiting = [HostError]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if error.__module__.split(".")[0] in PACKAGES:
            yield error


def test_every_error_code_is_documented() -> None:
    protocol = (ROOT / "docs" / "protocol.md").read_text()
    for error in every_error():
        assert f"| `{error.code}` | {error.status} | {error.close} |" in protocol, error


@pytest.mark.parametrize("code", list(RunErrorCode))
def test_every_code_of_a_failed_run_is_documented(code: RunErrorCode) -> None:
    assert f"\n| `{code}` | " in (ROOT / "docs" / "protocol.md").read_text()


# --- addresses and names


def routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    """Every public address, its variables as ``{}``."""
    for pattern in patterns:
        address = before + as_address(str(pattern.pattern))
        if isinstance(pattern, URLPattern):
            yield "/" + address
        elif isinstance(pattern, URLResolver) and not address.startswith("admin/"):
            yield from routes(pattern.url_patterns, address)
        else:
            yield "/" + address


def as_address(pattern: str) -> str:
    """A pattern of Django's, readable: ``runs/<uuid:run_id>/`` → ``runs/{}/``."""
    text = pattern.removeprefix("^").removesuffix("$").removesuffix("/?")
    text = text.replace("(?:api/)?", "")
    return re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]+>", "{}", text)


WARNING = re.compile(r"log\.(?:warning|error|exception|critical)\(\s*\"([a-z_.]+)\"")


def test_every_warning_is_explained() -> None:
    """A page says what happened and what to do, by the name that stands in the log."""
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    names = {
        name
        for path in repository.files()
        if path.parts[0] in PACKAGES and path.suffix == ".py"
        for name in WARNING.findall((ROOT / path).read_text("utf-8"))
    }
    assert len(names) > 80
    assert {name for name in names if f"`{name}`" not in pages} == set()


def test_every_route_is_documented() -> None:
    from agui_host.web import routing
    from agui_project import urls

    http = routing.http(lambda scope: None).routes
    sockets = routing.websocket().routes
    addresses = {*routes(urls.urlpatterns), *routes(http), *routes(sockets)}
    spoken = re.findall(r"/[\w{}/.-]*(?::\w+)?", repository.docs())
    documented = {re.sub(r"\{\w*\}", "{}", address).rstrip("/.") for address in spoken}
    assert {a for a in addresses if a.rstrip("/") not in documented} == set()


# --- links


def test_every_link_leads_somewhere() -> None:
    pages = repository.pages()
    for page, text in pages.items():
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            check_link(link, (ROOT / page).parent / link.split("#")[0], f"{page}: {link}", page)


def test_every_file_of_the_product_that_a_page_names_exists() -> None:
    named = {
        (page, path)
        for page, text in repository.pages().items()
        if not page.startswith("docs/adr/")  # a decision names the files of its day
        for path in repository.CODE.findall(text)
        if not path.startswith("docs/")  # may be a page of another project
    }
    assert len(named) > 200
    assert {(page, path) for page, path in named if not (ROOT / path).is_file()} == set()


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, text in repository.pages().items():
        for target in re.findall(r"(?:`|^)make\s([a-z][\w-]*)", text, re.MULTILINE):
            assert target in targets, f"{page}: make {target}"


GLOSSARY = ("lease", "claim", "generation", "fold", "cut", "admission", "finding", "link view")


def test_the_glossary_explains_the_words_of_the_code() -> None:
    words = (ROOT / "README.md").read_text().split("\n## Words\n")[1].split("\n## ")[0].lower()
    assert [word for word in GLOSSARY if f"\n| {word} |" not in words] == []


def test_the_readme_names_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nVersion {version}" in (ROOT / "README.md").read_text()


def test_pictures_are_small() -> None:
    pictures = [path for path in repository.files() if path.suffix == ".png"]
    assert pictures
    assert [path for path in pictures if (ROOT / path).stat().st_size > 200 * 1024] == []


def test_every_page_that_code_names_exists() -> None:
    for path in repository.files():
        if path.parts[0] in PACKAGES and path.suffix == ".py":
            text = (ROOT / path).read_text()
            for link in re.findall(r"docs/[\w/-]+\.md(?:#[\w-]+)?", text):
                check_link(link, ROOT / link.split("#")[0], f"{path}: {link}", "")


def check_link(link: str, target: Any, where: str, page: str) -> None:
    """The file is there, and the heading too."""
    target = ROOT / page if link.startswith("#") else target
    assert target.exists(), where
    if "#" in link:
        assert link.split("#")[1] in repository.anchors(target.read_text()), where
