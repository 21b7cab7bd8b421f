"""Steps in a command's output."""

from typing import Any

from agui_host.runtimes.kinds.process.steps import LONGEST_NAME, Steps

Event = dict[str, Any]


def call(id: str, name: str = "look") -> Event:
    return {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}


def result(id: str, **fields: Any) -> Event:
    return {"type": "TOOL_CALL_RESULT", "toolCallId": id, **fields}


def marks(*events: Event) -> list[str]:
    """The steps' events, and of the others their types."""
    steps = Steps()
    around = [*steps.around(events), *steps.end()]
    names = {"STEP_STARTED": "+", "STEP_FINISHED": "-"}
    failed = {True: "!", False: ""}
    return [
        names[event["type"]] + event["stepName"] + failed["metadata" in event]
        for event in around
        if event["type"] in names
    ]


def test_calls_at_once_are_one_step_named_after_the_first() -> None:
    assert marks(call("1", "read"), call("2", "write"), result("2"), result("1")) == [
        "+read",
        "-read",
    ]


def test_one_call_after_another_are_two_steps() -> None:
    events = (call("1", "read"), result("1"), call("2", "write"), result("2"))
    assert marks(*events) == ["+read", "-read", "+write", "-write"]


def test_a_result_that_is_an_error_fails_its_step_alone() -> None:
    events = (call("1", "read"), result("1", metadata={"error": True}), call("2", "b"), result("2"))
    assert marks(*events) == ["+read", "-read!", "+b", "-b"]


def test_the_model_speaks_again_and_its_own_tools_have_no_result() -> None:
    speech = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
    assert marks(call("1", "search"), speech, result("1")) == ["+search", "-search"]


def test_marked_lines() -> None:
    steps = Steps()
    first, second = list(steps.begin(" build ")), list(steps.begin("x" * 999))
    assert [event["stepName"] for event in (*first, *second)] == [
        "build",
        "build",
        "x" * LONGEST_NAME,
    ]
    (ended,) = steps.begin("  ")
    assert ended["type"] == "STEP_FINISHED"
    assert list(steps.end()) == []
