"""A question of LangChain's names no call: it is the approval of the open call that it is about.

While a call of its message is open that no approval answers, the SDK's chat does not send by
itself. Calls of whole messages stream no arguments: a snapshot has them.
"""

from typing import Any

import pytest

from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.message import UIMessage
from tests.dialects.folds.forms import began, snapshot

ARGUMENTS = '{"amount": 5}'
Json = dict[str, Any]


def question(*actions: Json, **more: Any) -> Json:
    raw = {"action_requests": list(actions), "review_configs": []}
    return {"id": "q", "reason": "on_interrupt", "metadata": {"langgraph": {"raw": raw}}, **more}


def pay(**args: Any) -> Json:
    return {"name": "pay", "args": args}


def log(asked: Json, *between: Json, streams: bool) -> list[Json]:
    call = {"toolCallId": "c", "toolCallName": "pay"}
    function = {"name": "pay", "arguments": ARGUMENTS}
    message = {"id": "m", "role": "assistant", "toolCalls": [
        {"id": "c", "type": "function", "function": function}]}  # fmt: skip
    arguments = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ARGUMENTS}
    outcome = {"type": "interrupt", "interrupts": [asked]}
    return [
        began(),
        {"type": "TOOL_CALL_START", **call},
        *([arguments] if streams else []),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        snapshot([message]),
        *between,
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome},
    ]


def tools_of(events: list[Json]) -> list[Json]:
    stream, message = Stream("m"), UIMessage("m")
    for event in events:
        for chunk in stream.feed(event):
            message.feed(chunk)
    return [part for part in message.wire()["parts"] if "toolCallId" in part]


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])
def test_it_is_the_approval_of_its_call(streams: bool) -> None:
    (part,) = tools_of(log(question(pay(amount=5)), streams=streams))
    assert (part["toolCallId"], part["state"]) == ("c", "approval-requested")
    assert part["input"] == {"amount": 5}
    assert part["approval"]["id"] == "q"


@pytest.mark.parametrize(
    "asked", [question(pay(amount=6)), question(pay(amount=5), pay(amount=7))],
    ids=["other arguments", "several actions"],
)  # fmt: skip
def test_one_about_anything_else_has_a_call_of_its_own(asked: Json) -> None:
    call, own = tools_of(log(asked, streams=True))
    assert (call["toolCallId"], call["state"]) == ("c", "input-available")
    assert (own["toolCallId"], own["state"]) == ("interrupt-q", "approval-requested")


def test_a_call_with_a_result_waits_for_nothing() -> None:
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "x", "content": "done"}
    call, own = tools_of(log(question(pay(amount=5)), result, streams=True))
    assert (call["state"], own["toolCallId"]) == ("output-available", "interrupt-q")


def test_a_tool_of_the_client_is_called_once() -> None:
    """The arguments that a snapshot brings later come too late for it."""
    events = log(question(pay(amount=5)), streams=False)
    events[0]["input"]["tools"] = [{"name": "pay", "description": "", "parameters": {}}]
    stream = Stream("m")
    chunks = [chunk for event in events for chunk in stream.feed(event)]
    calls = [chunk for chunk in chunks if chunk["type"] == "tool-input-available"]
    assert [call["input"] for call in calls if call["toolCallId"] == "c"] == [{}]


def test_an_agent_cannot_name_arguments_in_an_end() -> None:
    """Only the host's own view of a log has ends with arguments."""
    events = log(question(), streams=True)
    end = next(event for event in events if event["type"] == "TOOL_CALL_END")
    end |= {"delta": 5, "agui_host.arguments": 5}
    (part,) = [each for each in tools_of(events) if each["toolCallId"] == "c"]
    assert part["input"] == {"amount": 5}
