"""Values are named by their content: ``outcome``, ``grant``, ``frames``, never ``found``."""

import ast
from collections.abc import Iterator

import pytest

from tests.house import repository
from tests.house.repository import PACKAGES, ROOT

PARTICIPLES = {
    "found", "given", "kept", "told", "shown", "held", "said", "seen", "sent", "wanted",
}  # fmt: skip
ALLOWED = {
    ("agui_host/teams/api/members.py", "kept"),
}
"""Fields of the API, whose names its clients know. ``asked`` of a run is a word of the glossary."""


def bound(tree: ast.AST) -> Iterator[str]:
    """The names of values, parameters, attributes, functions and classes that a module binds."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name):
                yield name
            case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name


def participles(text: str) -> set[str]:
    """The participles that a source binds as names."""
    return PARTICIPLES & set(bound(ast.parse(text)))


def test_no_value_is_named_by_a_participle() -> None:
    wrong = {
        (path.as_posix(), name)
        for path in repository.files(ROOT)
        if path.suffix == ".py"
        and path.parts[0] in {*PACKAGES, "benchmarks", "docs", "requirements", "tests"}
        if "migrations" not in path.parts
        for name in participles((ROOT / path).read_text("utf-8"))
    }
    assert wrong - ALLOWED == set()
    assert wrong >= ALLOWED, "an exception that nothing needs"


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "for given in (): pass",
        "def told(): pass",
        "def f(sent): pass",
        "self.held = 1",
        "f(shown=1)",
        "[said for said in ()]",
        "if (kept := 1): pass",
    ],
)
def test_a_planted_participle_is_noticed(text: str) -> None:
    assert participles(text)
