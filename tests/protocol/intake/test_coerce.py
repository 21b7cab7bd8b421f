"""Numbers and objects where only text can be meant."""

from typing import Any

import pytest
from pydantic import BaseModel

from agui_host.protocol.intake.coerce import coerced, is_plain_data


class Row(BaseModel):
    n: int


@pytest.mark.parametrize(
    ("kind", "members", "field", "value"),
    [
        ("TEXT_MESSAGE_CONTENT", {"messageId": 7}, "messageId", "7"),
        ("TEXT_MESSAGE_CONTENT", {"messageId": 7.0}, "messageId", "7"),
        ("TEXT_MESSAGE_CONTENT", {"messageId": True}, "messageId", True),
        ("TEXT_MESSAGE_CONTENT", {"message_id": 7}, "message_id", "7"),
        ("TEXT_MESSAGE_CONTENT", {"delta": [{"type": "text", "text": "a"}]}, "delta", "a"),
        ("TOOL_CALL_ARGS", {"delta": {"a": 1}}, "delta", '{"a":1}'),
        ("TOOL_CALL_ARGS", {"delta": Row(n=1)}, "delta", '{"n":1}'),
        ("TOOL_CALL_RESULT", {"content": {"rows": [1]}}, "content", '{"rows":[1]}'),
        ("TOOL_CALL_RESULT", {"content": [Row(n=1)]}, "content", '[{"n":1}]'),
        ("TOOL_CALL_RESULT", {"content": 3.5}, "content", "3.5"),
        ("TOOL_CALL_RESULT", {"content": None}, "content", "null"),
        ("TOOL_CALL_RESULT", {"content": "as it is"}, "content", "as it is"),
        (
            "TOOL_CALL_RESULT",
            {"content": {"type": "text", "text": "a"}},
            "content",
            [{"type": "text", "text": "a"}],
        ),
        ("TEXT_MESSAGE_CONTENT", {"unknown": 7}, "unknown", 7),
    ],
)
def test_text_is_made_of_what_can_only_mean_it(
    kind: str, members: dict[str, Any], field: str, value: Any
) -> None:
    before = dict(members)
    assert coerced(kind, members)[field] == value
    assert members == before, "the agent's own event stays as it is"


def test_the_arguments_of_a_call_inside_a_snapshot_are_text() -> None:
    function = {"name": "look", "arguments": {"q": 1}}
    message = {"id": 1, "role": "assistant", "toolCalls": [{"id": 2, "function": function}]}
    snapshot = coerced("MESSAGES_SNAPSHOT", {"messages": [message]})["messages"][0]
    assert snapshot["id"] == "1"
    assert snapshot["toolCalls"][0]["function"]["arguments"] == '{"q":1}'


def test_what_is_no_json_inside_of_data_becomes_text() -> None:
    odd = {"content": {"x": object()}}
    assert coerced("TOOL_CALL_RESULT", odd)["content"] == '{"x":"<object>"}'
    assert coerced("STATE_SNAPSHOT", {"snapshot": {1: 2**60}})["snapshot"] == {"1": str(2**60)}


@pytest.mark.parametrize(
    ("content", "plain"),
    [
        ([{"n": 1}], True),
        ([{"type": "text", "text": "a"}, {"n": 1}], True),
        ([{"type": "text", "text": "a"}], False),
        ([], False),
        ("text", False),
    ],
)
def test_a_list_of_data_is_told_from_content_parts(content: Any, plain: bool) -> None:
    assert is_plain_data("TOOL_CALL_RESULT", {"content": content}) is plain
    assert not is_plain_data("TEXT_MESSAGE_CONTENT", {"content": content})
