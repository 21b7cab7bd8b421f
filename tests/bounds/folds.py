"""Intake, and what adds events up: folds, views, dialects."""

import json
from collections.abc import Callable
from typing import Any

from agui_host.dialects.a2a.fold import Task
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.alpine.fold import Alpine
from agui_host.dialects.mcp.fold import CallResult
from agui_host.dialects.openai.chat import ChatCompletion
from agui_host.dialects.openai.responses import Responses
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from agui_host.protocol.intake.gate import gate
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.response_schema import ResponseSchema, Unusable
from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import Redaction
from tests.bounds.cases import MB, case

Events = list[dict[str, Any]]
IDS = {"threadId": "t", "runId": "r"}
STARTED: dict[str, Any] = {"type": "RUN_STARTED", **IDS}
OPEN = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}


def fed(make: Callable[[], Callable[[dict[str, Any]], Any]]) -> Callable[[Events], Any]:
    """All events, one after the other, into something new; the loop gets its turn between."""

    async def run(events: Events) -> None:
        import asyncio

        take = make()
        for event in [STARTED, *events]:
            take(event)
            await asyncio.sleep(0)

    return run


def joined(events: Events) -> None:
    """The prelude of a log, which ``Fold`` can follow."""
    fold = Fold()
    for event in [STARTED, *events]:
        fold.feed(event)
    prelude(fold)
    Fold.load(fold.dump())


def state(snapshot: Any, *patches: Events) -> Events:
    deltas = [{"type": "STATE_DELTA", "delta": patch} for patch in patches]
    return [{"type": "STATE_SNAPSHOT", "snapshot": snapshot}, *deltas]


def nested() -> Any:
    value: Any = []
    for _ in range(95):
        value = [value]
    return value


COPY = {"op": "copy", "from": "/a", "path": "/b/-"}
EVENTS: dict[str, Callable[[], Events]] = {
    "copies": lambda: state({"a": "x" * MB, "b": []}, [COPY] * 150),
    "copies in many patches": lambda: state({"a": "x" * MB, "b": []}, *[[COPY]] * 150),
    "copies of the root": lambda: state({"a": "x" * 1000}, *[
        [{"op": "copy", "from": "", "path": f"/c{n}"}] for n in range(40)
    ]),
    "deeper and deeper": lambda: state({"a": nested()}, *[
        [{"op": "copy", "from": "", "path": "/a" + "/0" * 90}] for n in range(40)
    ]),
    "shifts": lambda: state(
        {"a": [0] * (MB // 4)}, [{"op": "add", "path": "/a/0", "value": 0}] * 20_000
    ),
    "many values": lambda: state([0] * (MB // 2)),
    "small changes of a large state": lambda: state(
        {"a": "x" * MB, "secret": 1, "b": 0},
        *[[{"op": "replace", "path": "/b", "value": n}] for n in range(300)],
    ),
    "failing patches": lambda: state(
        {"a": "x" * MB, "b": 0},
        *[[{"op": o, "path": "/b", "value": n}] for n in range(60) for o in ("replace", "x")],
    ),
    "pointers": lambda: state({}, [{"op": "remove", "path": "/a~1" * (MB // 4)}]),
    "a text in pieces": lambda: [
        OPEN, *[{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "{" + "x" * 49}]
        * (MB // 50), {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ],
    "arguments in pieces": lambda: [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        *[{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "[" * 50}] * (MB // 50),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ],
    "activities": lambda: [
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x",
         "content": {"a": "x" * MB, "b": 0}},
        *[{"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x",
           "patch": [{"op": "replace", "path": "/b", "value": n},
                     {"op": "test", "path": "", "value": 1}]} for n in range(100)],
    ],
    "messages": lambda: [
        {"type": "MESSAGES_SNAPSHOT",
         "messages": [{"id": str(n), "role": "user", "content": "x"} for n in range(MB // 50)]},
    ],
    "results": lambda: [
        {"type": "TOOL_CALL_RESULT", "messageId": str(n), "toolCallId": "c", "content": "x"}
        for n in range(4_000)
    ],
}  # fmt: skip


def only_legal(events: Events) -> Events:
    """What of these events gets into a log."""
    intake, log = Intake("t", "r"), []
    intake.accept(STARTED)
    for event in events:
        try:
            log += [json.loads(record.payload) for record in intake.accept(event)]
        except Exception:
            break
    return log


def logged(make: Callable[[], Events]) -> Callable[[], Events]:
    return lambda: only_legal(make())


REDACTION = Redaction(["secret", "a.b"])
FOLDS: dict[str, Callable[[Events], Any]] = {
    "intake": fed(lambda: Intake("t", "r").accept),
    "fold": fed(lambda: Fold().feed),
    "link view": fed(lambda: LinkView(REDACTION).show),
    "alpine": fed(lambda: Alpine("r").feed),
    "ai_sdk": fed(lambda: Stream("r").feed),
    "openai": fed(lambda: Responses("r").feed),
    "openai chat": fed(lambda: ChatCompletion("r").feed),
    "a2a": fed(lambda: Task("r").feed),
    "mcp": fed(lambda: CallResult("r").feed),
}
for kind, fold in FOLDS.items():
    for name, make in EVENTS.items():
        case(kind, name, make if kind == "intake" else logged(make), fold)
for name in ("a text in pieces", "messages", "many values", "results"):
    case("prelude", name, logged(EVENTS[name]), joined)

DELTA = {"type": "STATE_DELTA"}
for name, value in {
    "pointers": {**DELTA, "delta": [{"op": "remove", "path": "/~1" * (MB // 3)}]},
    "bad pointers": {**DELTA, "delta": [{"op": "remove", "path": "/~1" * (MB // 3) + "~"}]},
    "halves": {"type": "CUSTOM", "name": "x", "value": "\ud800a" * (MB // 2)},
    "keys": {"type": "CUSTOM", "name": "x", "value": {str(n): 0 for n in range(MB // 9)}},
}.items():
    case("gate", name, lambda value=value: value, gate)

FORM = {"items": {"anyOf": [{"const": n} for n in range(900)]}}
for name, schema, answer in (
    ("exponential", {"pattern": "^(a+)+$"}, lambda: "a" * 60 + "!"),
    ("a long text", {"pattern": "^(a+)+$"}, lambda: "a" * MB),
    ("many errors", {"items": {"type": "string"}}, lambda: [0] * (MB // 2)),
    ("a product", FORM, lambda: [-1] * (MB // 3)),
    ("unique", {"uniqueItems": True}, lambda: [[n] for n in range(MB // 9)]),
    ("itself", {"$ref": "#"}, lambda: 1),
    ("large", {"enum": ["x" * MB]}, lambda: 1),
):
    case(
        "response schema", name, answer,
        lambda value, schema=schema: ResponseSchema(schema).problems(value), refused=Unusable,
    )  # fmt: skip
