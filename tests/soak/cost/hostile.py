"""Input that is small and meant to be dear: JSON values, texts and patches of up to 64 KB."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

MOST = 64_000
"""Bytes of an input, about."""

TEXTS = {
    "one letter": "a", "no alphabet": "\u9000\u6b3e", "accents": "a\u0301", "digits": "9",
    "NUL": "\0", "half a character": "\ud800", "pointer": "/a~1", "markup": "<a>",
    "Markdown": "*[", "braces": "{", "line ends": "\n", "spaces": " ", "words": "ab ",
    "backslashes": "\\", "quotes": '"', "right to left": "\u202e\u05d0",
    "emoji": "\U0001f468\u200d", "separators": ";,=&%",
}  # fmt: skip
LEAVES: tuple[Any, ...] = (0, -1, 1e308, 10**15, True, None, "", "x", [], {}, [[]], {"a": []})
PATHS = ("", "/a", "/b", "/a/0", "/a/-", "/b/-", "/a/0/0", "/a/" + "9" * 30, "/c~1")


def repeated(pattern: str, count: int) -> str:
    """The pattern again and again, ``MOST`` characters at most."""
    return (pattern * count)[:MOST]


def row(leaf: Any, count: int) -> list[Any]:
    return [leaf] * min(count, MOST // (len(json.dumps(leaf)) + 1))


def keys(leaf: Any, count: int) -> dict[str, Any]:
    return {str(n): leaf for n in range(min(count, MOST // (len(json.dumps(leaf)) + 9)))}


def nested(leaf: Any, count: int) -> Any:
    """Depth is bounded for ``json`` itself, and for what writes the value again."""
    for turn in range(min(count, 400)):
        leaf = [leaf] if turn % 2 else {"a": leaf}
    return leaf


COUNTS = st.one_of(st.integers(0, 40), st.integers(0, MOST))
TEXT = st.builds(repeated, st.sampled_from(list(TEXTS.values())), COUNTS)
LEAF = st.one_of(st.sampled_from(LEAVES), TEXT.map(lambda text: text[:200]))
SHAPES: tuple[Callable[[Any, int], Any], ...] = (row, keys, nested)
SHAPED = st.builds(
    lambda shape, leaf, count: shape(leaf, count), st.sampled_from(SHAPES), LEAF, COUNTS
)
VALUE = st.one_of(SHAPED, TEXT, LEAF)
OPERATION = st.builds(
    lambda op, path, source, value: {"op": op, "path": path, "from": source, "value": value},
    st.sampled_from(("add", "remove", "replace", "move", "copy", "test")),
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
    st.sampled_from(LEAVES),
).map(lambda op: {k: v for k, v in op.items() if k in members(op["op"])})
PATCH = st.builds(
    lambda operations, count: (operations * count)[: MOST // 50],
    st.lists(OPERATION, min_size=1, max_size=3),
    COUNTS,
)


def members(op: str) -> tuple[str, ...]:
    """The members of a patch operation."""
    third: dict[str, tuple[str, ...]] = {"move": ("from",), "copy": ("from",), "remove": ()}
    return ("op", "path", *third.get(op, ("value",)))


def within(template: Any) -> st.SearchStrategy[Any]:
    """The template with one member, at any depth, replaced by something hostile."""
    places = list(_places(template))
    return st.builds(
        lambda place, value: _put(template, place, value), st.sampled_from(places), VALUE
    )


def _places(value: Any, place: tuple[Any, ...] = ()) -> Any:
    yield place
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, member in pairs:
        yield from _places(member, (*place, name))


def _put(value: Any, place: tuple[Any, ...], hostile: Any) -> Any:
    if not place:
        return hostile
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[place[0]] = _put(value[place[0]], place[1:], hostile)
    return changed


def encoded(value: Any) -> bytes:
    """JSON as a client could send it, ``MOST`` bytes at most (what is cut is not JSON)."""
    return json.dumps(value).encode()[:MOST]
