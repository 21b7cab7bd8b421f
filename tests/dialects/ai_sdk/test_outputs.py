"""The outputs of the agent's tools, as a chat's components read them."""

from typing import Any

import pytest

from agui_host.dialects.ai_sdk.fold import Stream


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
