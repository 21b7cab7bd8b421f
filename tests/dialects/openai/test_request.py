"""Requests of OpenAI's clients as RunAgentInputs."""

from typing import Any

import pytest

from agui_host.dialects.openai.request import read_chat, read_response
from agui_host.protocol.errors import BadRequest, HostError

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


HOST = "01890000-0000-7000-8000-000000000007"


@pytest.mark.parametrize(
    ("part", "kind", "file"),
    [
        ({"type": "input_file", "file_id": HOST}, "document", HOST),
        (
            {"type": "input_image", "file_id": f"file-{HOST.replace('-', '')}", "detail": "auto"},
            "image",
            HOST,
        ),
        ({"type": "file", "file": {"file_id": "file-abc123"}}, "document", "file-abc123"),
    ],
)
def test_a_file_is_named_by_its_id(part: dict[str, Any], kind: str, file: str) -> None:
    request = read_response({**MODEL, "input": [{"role": "user", "content": [part]}]})
    (message,) = request.input["messages"]
    assert message["content"] == [{"type": kind, "source": {"type": "file", "value": file}}]


def test_what_the_host_has_is_ignored() -> None:
    items = [{"type": "reasoning"}, {"type": "hologram"}, {"role": "user", "content": "x"}]
    assert read_response({**MODEL, "input": items}).input["messages"] == [
        {"role": "user", "content": "x"}
    ]
    with pytest.raises(HostError) as refused:
        read_response({**MODEL, "input": [{"type": "reasoning"}]})
    assert refused.value.details == {"path": "input"}, "nothing new is left"


ASKED = {"type": "mcp_approval_request", "id": "q", "name": "f", "arguments": "{}"}
YES = {"type": "mcp_approval_response", "approval_request_id": "q", "approve": True}
USER, SAID = {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}


@pytest.mark.parametrize(
    ("items", "messages", "answers"),
    [
        ([USER, ASKED, YES], [], 1),
        ([USER, SAID, ASKED, YES, USER], [USER], 1),
        ([USER, YES], [USER], 1),
        ([USER, ASKED, YES, ASKED, YES], [], 2),
        ([USER, ASKED, YES, SAID, USER], [USER, SAID, USER], 0),
        ([USER, ASKED, YES, SAID, USER, ASKED, YES], [], 1),
        ([USER, ASKED], [USER], 0),
    ],
)
def test_a_whole_history_brings_only_the_newest_answer(
    items: list[dict[str, Any]], messages: list[dict[str, Any]], answers: int
) -> None:
    data = read_response({**MODEL, "input": items}).input
    assert (data["messages"], len(data["resume"])) == (messages, answers)


def test_a_text_alone_is_a_text_however_it_is_wrapped() -> None:
    part = {"type": "input_text", "text": "x"}
    (message,) = read_response({**MODEL, "input": [{"role": "user", "content": [part]}]}).input[
        "messages"
    ]
    assert message["content"] == "x"


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
        ({"input": [{"type": "hologram"}]}, "input"),
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
