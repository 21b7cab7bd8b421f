"""A RunAgentInput as peers of AG-UI 0.x take it."""

from typing import Any

import pytest

from agui_host.runtimes.kinds.legacy_input import legacy

BASE = {"threadId": "t", "runId": "r"}


def test_what_0_x_wants_is_there_and_what_it_does_not_know_is_gone() -> None:
    body = {**BASE, "protocolVersion": "1.0", "parentRunId": "p", "state": None, "new": 1}
    assert legacy(body) == {
        **BASE, "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {"id": "1", "role": "user", "name": "eve", "metadata": {}, "content": [
                {"type": "text", "text": "a"}, {"type": "image", "source": {}},
                {"type": "text", "text": "b"},
            ]},
            {"id": "1", "role": "user", "name": "eve", "content": "a\nb"},
        ),
        (
            {"id": "2", "role": "tool", "toolCallId": "c", "content": "x", "error": "no"},
            {"id": "2", "role": "tool", "toolCallId": "c", "content": "x"},
        ),
        (
            {"id": "3", "role": "assistant", "content": None, "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f"}, "metadata": 1},
            ]},
            {"id": "3", "role": "assistant", "content": "", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f"}},
            ]},
        ),
        ({"id": "4", "role": "reasoning", "content": "hm"}, None),
        ({"id": "5", "role": "activity", "content": {}}, None),
    ],
)  # fmt: skip
def test_messages_become_text(message: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert legacy({**BASE, "messages": [message]})["messages"] == ([expected] if expected else [])


def test_tools_and_context_keep_what_0_x_knows() -> None:
    tools = [
        {"name": "f", "metadata": 1},
        {"name": "g", "description": "d", "parameters": {"a": 1}},
    ]
    context = [{"description": "d", "value": "v", "more": 1}]
    body = legacy({**BASE, "tools": tools, "context": context})
    assert body["tools"] == [
        {"name": "f", "description": "", "parameters": {}},
        {"name": "g", "description": "d", "parameters": {"a": 1}},
    ]
    assert body["context"] == [{"description": "d", "value": "v"}]


@pytest.mark.parametrize(
    ("resume", "props", "command"),
    [
        ([{"interruptId": "i", "status": "resolved", "payload": 1}], None, {"resume": 1}),
        (
            [{"interruptId": "i", "status": "cancelled"}],
            {"command": {"goto": "x"}},
            {"goto": "x", "resume": [{"interruptId": "i", "status": "cancelled"}]},
        ),
    ],
)
def test_an_answer_travels_where_frameworks_read_it(
    resume: list[dict[str, Any]], props: Any, command: dict[str, Any]
) -> None:
    body = legacy({**BASE, "resume": resume, "forwardedProps": props})
    assert body["forwardedProps"] == {"command": command}
    assert "resume" not in body
