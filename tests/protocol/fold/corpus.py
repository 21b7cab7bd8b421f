"""Patches on which each implementation is tried: ours, the dashboard's, the stock client's.

``python -m tests.protocol.fold.corpus`` writes the file again.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.pointer import pointer
from tests.house.repository import ROOT

FILE = ROOT / "tests" / "protocol" / "fold" / "patches.json"
NUMBER, SEED = 600, 31
KEYS = [
    "a",
    "b",
    "list",
    "0",
    "1",
    "2",
    "-",
    "",
    "01",
    "__proto__",
    "constructor",
    "prototype",
    "~1",
    "~0",
]
LEAVES: list[Any] = [None, True, False, 0, 1, -1, 1.5, "", "text", "é😀"]
KINDS = ["add", "remove", "replace", "move", "copy", "test", "unknown"]
DIRECTED: list[tuple[Any, list[dict[str, Any]]]] = [
    ({"a": 1}, [{"op": "remove", "path": ""}]),
    ({"a": 1}, [{"op": "remove", "path": ""}, {"op": "add", "path": "/b", "value": 1}]),
    ([1], [{"op": "remove", "path": ""}, {"op": "add", "path": "", "value": {}}]),
    ({}, [{"op": "add", "path": "/__proto__", "value": {"x": 1}}]),
    ({}, [{"op": "add", "path": "/a/__proto__/x", "value": 1}]),
    ({"a": {}}, [{"op": "add", "path": "/constructor/prototype", "value": 1}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/b"}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": ""}]),
    ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": ""}]),
    ({"a": 1}, [{"op": "move", "from": "", "path": "/a"}]),
    ([[1], [2], [3]], [{"op": "move", "from": "/0", "path": "/1/0"}]),
    ([1, 2, 3], [{"op": "move", "from": "/0", "path": "/3"}]),
    ([1, 2, 3], [{"op": "move", "from": "/0", "path": "/2"}]),
    ([1, 2, 3], [{"op": "move", "from": "/0", "path": "/x"}]),
    ([[1], 2], [{"op": "move", "from": "/0", "path": "/2/0"}]),
    ({"a": 1}, [{"op": "add", "path": "/b"}]),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}]),
    (
        {"a": 1},
        [{"op": "replace", "path": "/a", "value": 2}, {"op": "test", "path": "/a", "value": 1}],
    ),
]


def cases() -> list[dict[str, Any]]:
    """Each case: ``document``, ``patch``, and the ``result``, which a patch that fails lacks."""
    chance = random.Random(SEED)
    documents = [_value(chance, 3) for _ in range(NUMBER)]
    drawn = [(document, _patch(chance, document)) for document in documents]
    return [_case(document, patch) for document, patch in [*DIRECTED, *drawn]]


def _case(document: Any, patch: list[dict[str, Any]]) -> dict[str, Any]:
    case = {"document": document, "patch": patch}
    try:
        return {**case, "result": apply(copy.deepcopy(document), patch)}
    except PatchFailed:
        return case


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(3) if depth else 2
    if kind == 0:
        names = chance.sample(["a", "b", "list", "", "/", "~"], chance.randrange(4))
        return {name: _value(chance, depth - 1) for name in names}
    if kind == 1:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return chance.choice(LEAVES)


def _path(chance: random.Random, document: Any) -> str:
    """A place in the document, next to one, or anywhere."""
    if chance.random() < 0.8:
        path = chance.choice(list(_paths(document)))
        return path if chance.random() < 0.7 else f"{path}/{chance.choice(KEYS)}"
    return "".join(f"/{chance.choice(KEYS)}" for _ in range(chance.choice([0, 1, 1, 1, 2, 2, 3])))


def _paths(value: Any, path: str = "") -> Iterator[str]:
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else items:
        yield from _paths(part, path + pointer([str(key)]))


def _patch(chance: random.Random, document: Any) -> list[dict[str, Any]]:
    patch = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        operation = {
            "op": chance.choices(KINDS, [5, 3, 3, 3, 3, 2, 0.2])[0],
            "path": _path(chance, document),
        }
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = _value(chance, 1)
        if operation["op"] in ("move", "copy"):
            operation["from"] = _path(chance, document)
        patch.append(operation)
    return patch


def read() -> list[dict[str, Any]]:
    """The committed cases."""
    cases: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return cases


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases())
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")
