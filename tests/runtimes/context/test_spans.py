"""What a RunContext opens closes itself, and says nothing outside of its block."""

from typing import Any

import pytest

from agui_host.runtimes.context.outbox import Outbox
from agui_host.runtimes.context.spans import (
    Activity,
    Message,
    Reasoning,
    Span,
    Step,
    ToolCall,
    as_text,
    put_result,
)


@pytest.fixture
def outbox() -> Outbox:
    return Outbox()


def types(outbox: Outbox) -> list[str]:
    return [event["type"] for event in outbox.queue]


def spans(outbox: Outbox) -> list[Span]:
    return [
        Message(outbox, "m", "assistant", None),
        ToolCall(outbox, "c", "f", None, None),
        Step(outbox, "s"),
        Reasoning(outbox, "r"),
    ]


def test_each_ends_once(outbox: Outbox) -> None:
    for span in spans(outbox):
        with span:
            span.close()
        span.close()
    assert types(outbox) == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_END",
        "STEP_STARTED", "STEP_FINISHED", "REASONING_START", "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END", "REASONING_END",
    ]  # fmt: skip


async def test_each_ends_though_its_body_fails(outbox: Outbox) -> None:
    for span in spans(outbox):
        with pytest.raises(KeyError):
            async with span:
                raise KeyError
    assert types(outbox)[1::2][:3] == ["TEXT_MESSAGE_END", "TOOL_CALL_END", "STEP_FINISHED"]
    assert types(outbox)[-1] == "REASONING_END"


def test_nothing_is_written_outside_of_the_block(outbox: Outbox) -> None:
    message = Message(outbox, None, "assistant", None)
    with pytest.raises(RuntimeError, match="this Message is not open"):
        message.write("early")
    with message:
        pass
    with pytest.raises(RuntimeError, match="not open"):
        message.write("late")


def test_a_message_has_its_name_only_if_it_has_one(outbox: Outbox) -> None:
    with Message(outbox, "m", "system", "editor") as message:
        message.write("hi")
    start, delta, _ = outbox.queue
    assert start == {
        "type": "TEXT_MESSAGE_START", "messageId": "m", "role": "system", "name": "editor",
    }  # fmt: skip
    assert delta["delta"] == "hi"


def test_a_call_with_its_arguments_and_its_result(outbox: Outbox) -> None:
    with ToolCall(outbox, "c", "f", {"a": 1}, "m") as call:
        message_id = call.result({"b": 2})
    start, args, end, result = outbox.queue
    assert start["parentMessageId"] == "m"
    assert args["delta"] == '{"a":1}'
    assert end == {"type": "TOOL_CALL_END", "toolCallId": "c"}
    assert (result["messageId"], result["content"]) == (message_id, '{"b":2}')


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}]),
        ([], "[]"),
        ([{"text": "x"}], '[{"text":"x"}]'),
        ("plain", "plain"),
        (None, "null"),
    ],
)
def test_only_content_parts_are_sent_as_a_list(content: Any, expected: Any, outbox: Outbox) -> None:
    with ToolCall(outbox, "c", "f", None, None) as call:
        call.result(content)
    assert outbox.queue[-1]["content"] == expected


@pytest.mark.parametrize(
    ("error", "failed"), [(ValueError, True), (KeyboardInterrupt, False), (None, False)]
)
def test_a_step_says_that_it_failed(
    error: type[BaseException] | None, failed: bool, outbox: Outbox
) -> None:
    step = Step(outbox, "s")
    step.__enter__()
    step.__exit__(error)
    metadata = {"metadata": {"status": "failed"}} if failed else {}
    assert outbox.queue[-1] == {"type": "STEP_FINISHED", "stepName": "s", **metadata}


def test_an_activity_changes_by_content_or_by_patch(outbox: Outbox) -> None:
    activity = Activity(outbox, "a", "plan", {"done": 0})
    patch = [{"op": "replace", "path": "/done", "value": 1}]
    activity.update(patch)
    snapshot, delta = outbox.queue
    assert (snapshot["type"], snapshot["content"]) == ("ACTIVITY_SNAPSHOT", {"done": 0})
    assert (delta["type"], delta["patch"]) == ("ACTIVITY_DELTA", patch)
    assert snapshot["activityType"] == delta["activityType"] == "plan"


def test_the_message_of_yielded_text_ends_before_another_begins(outbox: Outbox) -> None:
    outbox.text("yielded")
    with Message(outbox, "m", "assistant", None):
        pass
    assert types(outbox)[2:4] == ["TEXT_MESSAGE_END", "TEXT_MESSAGE_START"]


def test_text_stays_text() -> None:
    assert (as_text('"x"'), as_text(["x"])) == ('"x"', '["x"]')


def test_a_result_ends_the_text_before_it(outbox: Outbox) -> None:
    outbox.text("I look.")
    put_result(outbox, "c", {"rows": 2})
    assert types(outbox)[-2:] == ["TEXT_MESSAGE_END", "TOOL_CALL_RESULT"]
    assert outbox.queue[-1]["content"] == '{"rows":2}'
