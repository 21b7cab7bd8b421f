"""The workshop's emitter: each method is one event that the SDK accepts."""

import json
from typing import Any

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from agui_client import AGUIEventEmitter

EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def read(frame: str) -> dict[str, Any]:
    assert frame.startswith("data: ")
    assert frame.endswith("\n\n")
    event: dict[str, Any] = json.loads(frame[6:])
    EVENT.validate_python(event)
    return event


def test_a_run_with_a_text_and_a_tool_call() -> None:
    emitter = AGUIEventEmitter("t", "r")
    frames = [
        emitter.emit_run_started(),
        emitter.emit_tool_call_start("look"),
        emitter.emit_tool_call_args('{"at": 1}'),
        emitter.emit_tool_call_end(),
        emitter.emit_tool_call_result("42"),
        emitter.emit_text_start("m1"),
        emitter.emit_text_content("hi"),
        emitter.emit_text_end(),
        emitter.emit_run_finished(),
    ]
    events = [read(frame) for frame in frames]
    assert [event["type"] for event in events] == [
        "RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
    ]  # fmt: skip
    assert (events[0]["threadId"], events[0]["runId"]) == ("t", "r")
    assert len({event["toolCallId"] for event in events[1:5]}) == 1
    assert {event["messageId"] for event in events[5:8]} == {"m1"}
    assert emitter.content_type == "text/event-stream"


def test_a_state_delta_of_values_becomes_a_patch() -> None:
    emitter = AGUIEventEmitter("t", "r")
    assert read(emitter.emit_state_snapshot({"turns": 3}))["snapshot"] == {"turns": 3}
    delta = read(emitter.emit_state_delta({"turns": 4, "a/b~c": None}))["delta"]
    assert delta == [
        {"op": "add", "path": "/turns", "value": 4},
        {"op": "add", "path": "/a~1b~0c", "value": None},
    ]
    patch = [{"op": "remove", "path": "/turns"}]
    assert read(emitter.emit_state_delta(patch))["delta"] == patch


def test_an_error_has_a_code() -> None:
    emitter = AGUIEventEmitter("t", "r")
    assert read(emitter.emit_run_error("no"))["code"] == "UNKNOWN_ERROR"
    assert read(emitter.emit_run_error("no", "mine"))["code"] == "mine"


@pytest.mark.parametrize(
    "method",
    ["emit_text_end", "emit_tool_call_end"],
)
def test_what_was_not_started_cannot_end(method: str) -> None:
    with pytest.raises(ValueError, match="Nothing is open"):
        getattr(AGUIEventEmitter("t", "r"), method)()
