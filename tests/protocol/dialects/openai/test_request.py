"""Requests of OpenAI's clients as RunAgentInputs."""

from typing import Any

import pytest

from protocol.dialects.openai.request import read_chat, read_response
from protocol.errors import BadRequest, HostError

MODEL = {"model": "echo"}


def test_a_text_is_a_message_of_the_user() -> None:
    request = read_response({**MODEL, "input": "hi", "instructions": "be kind", "seed": 3})
    assert (request.model, request.stream, request.background) == ("echo", False, False)
    assert request.input["messages"] == [{"role": "user", "content": "hi"}]
    assert request.input["context"] == [{"description": "Instructions", "value": "be kind"}]
    options = request.input["forwardedProps"]["openai"]
    assert options == {"instructions": "be kind", "seed": 3}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
            {
                "role": "assistant",
                "toolCalls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://x/y"}]},
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "url", "value": "https://x/y"}}],
            },
        ),
        (
            {"id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "ho"}]},
            {"id": "m", "role": "assistant", "content": "ho"},
        ),
    ],
)
def test_an_item_is_a_message(item: dict[str, Any], message: dict[str, Any]) -> None:
    assert read_response({**MODEL, "input": [item]}).input["messages"] == [message]


def test_a_function_output_is_a_result() -> None:
    item = {"type": "function_call_output", "call_id": "c", "output": "42"}
    (message,) = read_response({**MODEL, "input": [item]}).input["messages"]
    assert message["role"] == "tool"
    assert (message["toolCallId"], message["content"]) == ("c", "42")


def test_an_approval_is_an_answer() -> None:
    item = {"type": "mcp_approval_response", "approval_request_id": "i", "approve": False}
    request = read_response({**MODEL, "input": [{**item, "reason": "no"}]})
    assert request.input["messages"] == []
    assert request.input["resume"] == [
        {
            "interruptId": "i", "status": "resolved", "payload": {"approved": False},
            "metadata": {"reason": "no"},
        }
    ]  # fmt: skip


def test_what_the_host_has_is_ignored() -> None:
    with pytest.raises(HostError) as refused:
        read_response({**MODEL, "input": [{"type": "reasoning"}]})
    assert refused.value.details == {"path": "input"}, "nothing new is left"


@pytest.mark.parametrize("named", ["c", {"id": "c"}])
def test_a_conversation_is_named_either_way(named: Any) -> None:
    assert read_response({**MODEL, "input": "x", "conversation": named}).conversation == "c"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "input"),
        ({"input": "x"}, "model"),
        ({"input": [1]}, "input"),
        ({"input": [{"role": "robot", "content": ""}]}, "input.0.role"),
        ({"input": [{"type": "hologram"}]}, "input.0"),
        ({"input": "x", "conversation": 1}, "conversation"),
        ({"input": "x", "stream": "yes"}, "stream"),
        ({"input": "x", "metadata": {"a": 1}}, "metadata"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools.0.name"),
        (
            {"input": [{"role": "user", "content": [{"type": "image_url", "image_url": 1}]}]},
            "input.0.content.0",
        ),
    ],
)
def test_an_error_names_the_place(body: dict[str, Any], path: str) -> None:
    model = {} if path == "model" else MODEL
    with pytest.raises(HostError) as refused:
        read_response({**model, **body})
    assert refused.value.details == {"path": path}


def test_one_thread_is_named_once() -> None:
    body = {**MODEL, "input": "x", "conversation": "c", "previous_response_id": "p"}
    with pytest.raises(BadRequest, match="not both"):
        read_response(body)


def test_tools_that_openai_runs_are_left_out() -> None:
    tools = [{"type": "web_search"}, {"type": "function", "function": {"name": "f"}}]
    request = read_chat({**MODEL, "messages": [{"role": "user", "content": "x"}], "tools": tools})
    assert request.input["tools"] == [{"name": "f", "description": "", "parameters": None}]


def test_a_chat_is_a_list_of_messages() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "42"},
    ]
    options = {"include_usage": True}
    request = read_chat({**MODEL, "messages": messages, "stream": True, "stream_options": options})
    assert (request.stream, request.with_usage) == (True, True)
    assert request.input["messages"] == [
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "toolCalls": calls, "content": ""},
        {"role": "tool", "toolCallId": "c", "content": "42"},
    ]


@pytest.mark.parametrize("more", [{"messages": []}, {"n": 2}])
def test_a_chat_needs_messages_and_gives_one_answer(more: dict[str, Any]) -> None:
    body = {**MODEL, "messages": [{"role": "user", "content": "x"}], **more}
    with pytest.raises(HostError) as refused:
        read_chat(body)
    assert refused.value.details == {"path": next(iter(more))}
