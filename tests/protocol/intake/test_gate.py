import dataclasses
import datetime
import enum
import uuid
from collections import OrderedDict
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    EventType,
    RunFinishedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)
from ag_ui.core import Event as SdkEvent
from hypothesis import given
from pydantic import BaseModel, TypeAdapter

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.gate import gate
from agui_host.protocol.schema import EVENTS
from tests.protocol.legal import JSON
from tests.protocol.samples import FULL

START = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
DELTA = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
REMOVE = {"op": "remove", "path": ""}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "x"}


class Colour(enum.StrEnum):
    RED = "red"


class Point(BaseModel):
    x_pos: int


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


def snapshot(value: Any) -> dict[str, Any]:
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


def messages(*items: Any) -> dict[str, Any]:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(items)}


def interrupt(**fields: Any) -> dict[str, Any]:
    one = {"id": "i", "reason": "ask", **fields}
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [one]}}


def problem(event: Any) -> str:
    with pytest.raises(RunFailed) as caught:
        gate(event)
    assert caught.value.reason == RunErrorCode.INVALID_EVENT
    return caught.value.message


def test_the_tables_know_the_31_events_and_the_samples_show_each() -> None:
    assert set(EVENTS) == {member.value for member in EventType}
    assert {event["type"] for event in FULL} == set(EVENTS)


@pytest.mark.parametrize("event", FULL, ids=lambda event: event["type"])
def test_a_full_event_passes_as_it_is(event: dict[str, Any]) -> None:
    assert gate(event) == event
    TypeAdapter[Any](SdkEvent).validate_python(event)


@pytest.mark.parametrize("event", FULL, ids=lambda event: event["type"])
def test_an_sdk_object_says_the_same_as_its_dict(event: dict[str, Any]) -> None:
    assert gate(TypeAdapter[Any](SdkEvent).validate_python(event)) == event


@pytest.mark.parametrize("event", FULL, ids=lambda event: event["type"])
def test_no_required_field_may_be_missing(event: dict[str, Any]) -> None:
    filled = {"type", *EVENTS[event["type"]].defaults}
    for name in set(EVENTS[event["type"]].required) - filled:
        rest = {key: value for key, value in event.items() if key != name}
        assert problem(rest) == f"{event['type']}: '{name}' is missing"


@pytest.mark.parametrize("event", FULL, ids=lambda event: event["type"])
def test_nulls_of_optional_fields_go(event: dict[str, Any]) -> None:
    required = EVENTS[event["type"]].required
    nulls = {name: None if name not in required else value for name, value in event.items()}
    assert gate(nulls) == {name: event[name] for name in event if name in required}


@pytest.mark.parametrize(
    ("event", "passed"),
    [
        ({**DELTA, "extra": 1}, DELTA),
        ({**DELTA, "timestamp": None, "raw_event": None}, DELTA),
        ({"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "x"}, DELTA),
        ({**DELTA, "message_id": "other"}, DELTA),
        ({**DELTA, "type": EventType.TEXT_MESSAGE_CONTENT}, DELTA),
        (OrderedDict(DELTA), DELTA),
        ({**DELTA, "timestamp": 5.0}, {**DELTA, "timestamp": 5}),
        ({**DELTA, "timestamp": 1.6}, {**DELTA, "timestamp": 2}),
        ({**DELTA, "timestamp": "2026-01-01T00:00:00Z"}, DELTA),
        ({**DELTA, "timestamp": True}, DELTA),
        ({**DELTA, "timestamp": float("nan")}, DELTA),
        ({**DELTA, "timestamp": 10**400}, DELTA),
        ({**DELTA, "delta": "a\ud800b", "messageId": "\udc00"}, None),
        (
            {"type": "REASONING_MESSAGE_START", "messageId": "m"},
            {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
        ),
        ({**FINISHED, "outcome": {"type": "paused"}}, FINISHED),
        ({**FINISHED, "outcome": None, "result": None}, FINISHED),
        (interrupt(subagentRunId=None, more=1), interrupt()),
        (
            messages(
                {"id": "1", "role": "assistant", "content": None, "tool_calls": None},
                {"id": "2", "role": "narrator", "content": "x"},
                {"id": "3", "role": "user", "content": [{"type": "smell"}], "seen": True},
            ),
            messages({"id": "1", "role": "assistant"}, {"id": "3", "role": "user", "content": []}),
        ),
        (
            {**RESULT, "content": [{"type": "image", "source": {"type": "ipfs", "value": "v"}}]},
            {**RESULT, "content": []},
        ),
        (
            {
                "type": "STATE_DELTA",
                "delta": [{"op": "shift"}, {**REMOVE, "left": 1}],
            },
            {"type": "STATE_DELTA", "delta": [{**REMOVE, "left": 1}]},
        ),
        (
            {**START, "metadata": {"snake_case": None, "x": {"y": None}}},
            {**START, "metadata": {"snake_case": None, "x": {"y": None}}},
        ),
    ],
)
def test_what_the_spec_tolerates_is_repaired(event: Any, passed: Any) -> None:
    expected = passed or {**DELTA, "delta": "a\ufffdb", "messageId": "\ufffd"}
    assert gate(event) == expected


@pytest.mark.parametrize(
    ("event", "where"),
    [
        ({**DELTA, "messageId": 5}, "TEXT_MESSAGE_CONTENT.messageId: must be a string"),
        ({**DELTA, "delta": None}, "TEXT_MESSAGE_CONTENT.delta: must be a string"),
        ({**START, "role": "tool"}, "TEXT_MESSAGE_START.role: must be one of"),
        ({**START, "metadata": []}, "TEXT_MESSAGE_START.metadata: must be an object"),
        ({**RESULT, "content": {"a": 1}}, "TOOL_CALL_RESULT.content: must be a string or a list"),
        ({"type": "RUN_ERROR", "message": "m", "code": 500}, "RUN_ERROR.code: must be a string"),
        ({**FINISHED, "usage": [{"inputTokens": -1}]}, "RUN_FINISHED.usage.0.inputTokens: must be"),
        ({**FINISHED, "usage": [{"inputTokens": True}]}, "RUN_FINISHED.usage.0.inputTokens:"),
        (
            {**FINISHED, "outcome": {"type": "interrupt", "interrupts": []}},
            "RUN_FINISHED.outcome.interrupts: must not be empty",
        ),
        (interrupt(responseSchema=True), "RUN_FINISHED.outcome.interrupts.0.responseSchema:"),
        (interrupt(expiresAt=5), "RUN_FINISHED.outcome.interrupts.0.expiresAt:"),
        ({"type": "STATE_DELTA", "delta": {}}, "STATE_DELTA.delta: must be a list"),
        (
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "a", "value": 1}]},
            "STATE_DELTA.delta.0.path: must be a JSON Pointer",
        ),
        (
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/~2", "value": 1}]},
            "STATE_DELTA.delta.0.path: must be a JSON Pointer",
        ),
        ({"type": "STATE_DELTA", "delta": [{"op": "add", "path": ""}]}, "'value' is missing"),
        (
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "a", "content": []},
            "ACTIVITY_SNAPSHOT.content: must be an object",
        ),
        (messages({"id": "1", "role": "assistant", "content": []}), "messages.0.content:"),
        (messages(None), "MESSAGES_SNAPSHOT.messages.0: must be an object"),
        (snapshot({"a": [float("nan")]}), "STATE_SNAPSHOT.snapshot: NaN"),
        (snapshot(float("-inf")), "STATE_SNAPSHOT.snapshot: NaN"),
        (snapshot(2**53), "STATE_SNAPSHOT.snapshot: an integer is beyond"),
        (snapshot({1: 2}), "STATE_SNAPSHOT.snapshot: keys must be strings"),
        (snapshot(object()), "STATE_SNAPSHOT.snapshot: a object is not JSON"),
        (snapshot(b"\xff"), "STATE_SNAPSHOT.snapshot: a bytes is not JSON"),
        (None, "must be an object"),
        ("text", "must be an object"),
        ([DELTA], "must be an object"),
        ({}, "an event needs a 'type'"),
        ({"type": 5}, "an event needs a 'type'"),
        ({"type": ["TEXT_MESSAGE_CONTENT"]}, "an event needs a 'type'"),
    ],
)
def test_what_a_client_would_reject_is_refused(event: Any, where: str) -> None:
    assert where in problem(event)


def test_the_problem_never_repeats_the_value() -> None:
    assert "secret" not in problem({**DELTA, "delta": ["secret"]})
    assert "secret" not in problem(snapshot({"a": {"secret"}, "b": object()}))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2.5, None, True), [1, 2.5, None, True]),
        (Colour.RED, "red"),
        ({Colour.RED: Colour.RED}, {"red": "red"}),
        (OrderedDict(a=1), {"a": 1}),
        (Point(x_pos=1), {"x_pos": 1}),
        (Pair(1, Point(x_pos=2)), {"left": 1, "right": {"x_pos": 2}}),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"\ud800": "\x00"}, {"\ufffd": "\x00"}),
    ],
)
def test_python_values_become_plain_json(value: Any, plain: Any) -> None:
    assert gate(snapshot(value)) == snapshot(plain)
    assert gate(StateSnapshotEvent(snapshot=value)) == snapshot(plain)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_depth_ends_at_100() -> None:
    assert gate(snapshot(nested(100))) == snapshot(nested(100))
    assert "deeper than 100" in problem(snapshot(nested(101)))
    assert "deeper than 100" in problem(snapshot(nested(900)))


def test_a_value_that_contains_itself_is_refused_at_once() -> None:
    tree: dict[str, Any] = {"children": []}
    tree["children"] = [{"parent": tree} for _ in range(20)]
    assert "deeper than 100" in problem(snapshot(tree))
    problem(StateSnapshotEvent(snapshot=tree))


@given(JSON)
def test_json_passes_unchanged_and_as_a_copy(value: Any) -> None:
    copied = gate(snapshot(value))["snapshot"]
    assert copied == value
    assert not isinstance(value, dict | list) or copied is not value


def test_an_event_is_never_handed_through_itself() -> None:
    event = dict(DELTA)
    gate(event)["timestamp"] = 5
    assert event == DELTA


def test_an_unknown_type_is_kept_as_raw() -> None:
    event = {"type": "THINKING_OUT_LOUD", "text": "hm", "nothing": None}
    assert gate(event) == {"type": "RAW", "event": event, "source": "unknown event type"}


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        (TextMessageContentEvent(message_id="m", delta="x"), DELTA),
        (
            TextMessageContentEvent(message_id="m", delta="x", timestamp=1),
            {**DELTA, "timestamp": 1},
        ),
        (
            TextMessageContentEvent(message_id="m", delta="x", metadata={"a": None}),
            {**DELTA, "metadata": {"a": None}},
        ),
        (
            ToolCallArgsEvent(tool_call_id="c", delta="{", subagent_run_id="s"),
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{", "subagentRunId": "s"},
        ),
        (
            ToolCallStartEvent.model_validate(
                {"toolCallId": "c", "toolCallName": "n", "unknown": 1}
            ),
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n"},
        ),
        (CustomEvent(name="n", value=None), {"type": "CUSTOM", "name": "n", "value": None}),
        (RunFinishedEvent(thread_id="t", run_id="r"), FINISHED),
        (
            {"type": "MESSAGES_SNAPSHOT", "messages": [AssistantMessage(id="1", content="x")]},
            messages({"id": "1", "role": "assistant", "content": "x"}),
        ),
    ],
)
def test_sdk_objects_lose_nothing_but_nulls(event: Any, wire: dict[str, Any]) -> None:
    assert gate(event) == wire


def test_ids_of_the_run_replace_what_the_agent_says() -> None:
    ids = {"threadId": "t", "runId": "r"}
    assert gate({"type": "RUN_FINISHED", "thread_id": None, "runId": 5}, ids) == FINISHED
    assert gate(DELTA, ids) == DELTA
