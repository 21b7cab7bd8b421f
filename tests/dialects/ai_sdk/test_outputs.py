"""The outputs of the agent's tools, as a chat's components read them."""

from typing import Any

import pytest

from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.dialects.ai_sdk.request import read


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ('{"rain":0}', {"rain": 0}),
        ("[1,2]", [1, 2]),
        ("dry", "dry"),
        ("{not json", "{not json"),
        ('"quoted"', '"quoted"'),
        ("42", "42"),
        ("", ""),
    ],
)
def test_an_object_is_an_object(content: str, output: Any) -> None:
    fold = Stream("m")
    for event in (
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "weather"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ):
        fold.feed(event)
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "x", "content": content}
    (frame,) = fold.feed(result)
    assert (frame["type"], frame["output"]) == ("tool-output-available", output)


def test_a_result_of_an_unknown_call_brings_the_call() -> None:
    """AI SDK's client throws away an output without its input."""
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "x", "content": "dry"}
    call, output = Stream("m").feed(result)
    assert (call["type"], call["toolCallId"]) == ("tool-input-available", "c")
    assert (output["type"], output["output"]) == ("tool-output-available", "dry")


@pytest.mark.parametrize(
    "output", [5, 0.5, True, None, {"rain": 0}, [1], "dry", "5", "null", "[1]"]
)
def test_an_output_of_the_client_comes_back_as_it_was(output: Any) -> None:
    part = {"type": "tool-x", "toolCallId": "c", "state": "output-available", "output": output}
    message = {"id": "a", "role": "assistant", "parts": [part]}
    (result,) = read({"id": "t", "messages": [message]}).input["messages"]
    started = {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "input": {"messages": [result]},
    }
    frames = Stream("a", calls=["c"]).feed(started)
    (answer,) = [frame for frame in frames if frame["type"] == "tool-output-available"]
    assert (type(answer["output"]), answer["output"]) == (type(output), output)
