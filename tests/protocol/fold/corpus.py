"""Patches and logs on which each fold is tried: ours, the dashboard's, the stock client's.

``python -m tests.protocol.fold.corpus`` writes both files again.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.pointer import pointer
from tests.house.repository import ROOT
from tests.protocol.legal import THOROUGH, Event
from tests.protocol.logs import expanded, threads

FOLDER = ROOT / "tests" / "protocol" / "fold"
FILE, LOGS = FOLDER / "patches.json", FOLDER / "logs.json"
NUMBER, SEED = 600, 31
DRAWN_LOGS = 150
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


RUN = {"threadId": "thread", "runId": "run-1"}
USER = {"id": "u", "role": "user", "content": "weather?"}
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}}
CALLS: Event = {"id": "m", "role": "assistant", "content": "I look.", "toolCalls": [CALL]}
RESULT = {"id": "r", "role": "tool", "toolCallId": "c", "content": "a secret"}
PICTURE = {"type": "image", "source": {"type": "url", "value": "https://a.example/b.png"}}
LOOKED: list[Event] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "I look."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"q":1}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "r", "content": "a secret"},
]
SNAPSHOTS: list[list[Event]] = [
    [USER, CALLS, RESULT],
    [USER, CALLS],
    [USER, {**CALLS, "toolCalls": []}, RESULT],
    [USER, {**CALLS, "toolCalls": []}],
    [USER, {**CALLS, "content": ""}, RESULT],
    [USER, CALLS, {**RESULT, "content": "corrected"}],
    [USER, CALLS, {**RESULT, "content": "", "error": "It failed."}],
    [USER, {**CALLS, "content": "Corrected."}, {**RESULT, "id": "r2"}],
    [{**USER, "content": [{"type": "text", "text": "see"}, PICTURE]}, CALLS, RESULT],
    [USER, {**CALLS, "toolCalls": [{**CALL, "function": {"name": "see", "arguments": "{}"}}]}],
    [USER, {"id": "other", "role": "assistant", "content": "All is new."}],
    [],
]


def logs() -> list[dict[str, Any]]:
    """Each case: the ``events`` of a run, and the ``messages`` and ``state`` of a client."""
    began = {"type": "RUN_STARTED", **RUN, "input": {**RUN, "messages": [USER], "state": {"a": 1}}}
    finished = {"type": "RUN_FINISHED", **RUN}
    drawn: list[list[Event]] = [
        [began, *LOOKED, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, finished]
        for messages in SNAPSHOTS
    ]

    @settings(THOROUGH, max_examples=DRAWN_LOGS, derandomize=True)
    @given(threads())
    def draw(events: list[Event]) -> None:
        log = expanded(events)
        ends = [
            at for at, event in enumerate(log) if event["type"] in ("RUN_FINISHED", "RUN_ERROR")
        ]
        drawn.append(log[: ends[0] + 1] if ends else log)

    draw()
    return [{"events": log, **outcome(log)} for log in drawn]


def outcome(log: list[Event]) -> dict[str, Any]:
    """The conversation and the state after a log, by our fold."""
    fold = Fold()
    for event in log:
        fold.feed(event)
    made: dict[str, Any] = json.loads(json.dumps({"messages": fold.messages, "state": fold.state}))
    return made


def read() -> list[dict[str, Any]]:
    """The committed patches."""
    cases: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return cases


def read_logs() -> list[dict[str, Any]]:
    """The committed logs."""
    cases: list[dict[str, Any]] = json.loads(LOGS.read_text("utf-8"))
    return cases


if __name__ == "__main__":
    for file, written in ((FILE, cases()), (LOGS, logs())):
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in written)
        file.write_text(f"[\n{lines}\n]\n", "utf-8")
