"""What an AI SDK chat sends, as a RunAgentInput."""

from typing import Any

import pytest

from agui_host.dialects.ai_sdk.request import read
from agui_host.protocol.errors import HostError, Invalid

HI = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
CALL = {"type": "tool-weather", "toolCallId": "c", "state": "input-available"}


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "t", "messages": list(messages), **more}


def assistant(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": "a", "role": "assistant", "parts": list(parts)}


def test_a_text_alone_is_plain_content() -> None:
    request = read(chat(HI, forwardedProps={"k": 1}))
    assert request.input["threadId"] == "t"
    assert request.input["messages"] == [{"id": "u", "role": "user", "content": "hi"}]
    assert request.input["forwardedProps"] == {"k": 1}
    assert request.continues is None


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            {"type": "file", "mediaType": "image/png", "url": "https://x/y", "filename": "y.png"},
            {
                "type": "image",
                "source": {"type": "url", "value": "https://x/y", "mimeType": "image/png"},
                "metadata": {"filename": "y.png"},
            },
        ),
        (
            {"type": "file", "mediaType": "text/csv", "url": "data:text/csv;base64,AA"},
            {
                "type": "document",
                "source": {"type": "data", "value": "AA", "mimeType": "text/csv"},
            },
        ),
    ],
)
def test_files_are_parts(part: dict[str, Any], content: dict[str, Any]) -> None:
    (message,) = read(chat({**HI, "parts": [part, {"type": "step-start"}]})).input["messages"]
    assert message["content"] == [content]


def test_the_assistants_tool_calls_are_left_to_the_host() -> None:
    before = assistant({"type": "text", "text": "a"}, CALL, {"type": "text", "text": "b"})
    assert read(chat(before, HI)).input["messages"][0]["content"] == "ab"
    assert len(read(chat(assistant(CALL), HI)).input["messages"]) == 1


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ({"state": "output-available", "output": "dry"}, {"id": "c-text", "content": "dry"}),
        ({"state": "output-available", "output": 5}, {"id": "c-value", "content": "5"}),
        (
            {"state": "output-available", "output": {"rain": 0}},
            {"id": "c-value", "content": '{"rain":0}'},
        ),
        (
            {"state": "output-error", "errorText": "no"},
            {"id": "c-text", "content": "no", "error": "no"},
        ),
    ],
)
def test_results_of_the_clients_tools(state: dict[str, Any], result: dict[str, Any]) -> None:
    request = read(chat(HI, assistant({**CALL, **state})))
    assert request.input["messages"][-1] == {
        "role": "tool", "toolCallId": "c", **result,
    }  # fmt: skip
    assert (request.continues, request.calls) == ("a", {"c"})


def test_an_approval_is_an_answer() -> None:
    approval = {"id": "i", "approved": False, "reason": "late"}
    part = {**CALL, "state": "approval-responded", "approval": approval}
    request = read(chat(HI, assistant(part)))
    assert request.input["resume"] == [
        {
            "interruptId": "i", "status": "resolved", "payload": {"approved": False},
            "metadata": {"reason": "late"},
        }
    ]  # fmt: skip
    assert request.approvals == {"i"}


def test_regenerating_is_said_to_the_agent() -> None:
    request = read(chat(HI, trigger="regenerate-message", forwardedProps={"k": 1}))
    assert request.input["forwardedProps"] == {"k": 1, "regenerate": True}
    assert "resume" not in request.input


def test_a_list_of_tools_stays_as_it_is() -> None:
    tools = [{"name": "f", "description": "d", "parameters": {}}]
    assert read(chat(HI, tools=tools)).input["tools"] == tools


def test_tools_by_name_are_a_list() -> None:
    tools = {"f": {"inputSchema": {"type": "object"}}, "odd": 1}
    assert read(chat(HI, tools=tools)).input["tools"] == [
        {"name": "f", "description": "", "parameters": {"type": "object"}}
    ]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"id": 5, "messages": [HI]}, "id"),
        (chat(), "messages"),
        (chat(HI, trigger="submit"), "trigger"),
        (chat({**HI, "role": "tool"}), "messages.0.role"),
        (chat({**HI, "parts": [{"type": "text"}]}), "messages.0.parts.0.text"),
        (
            chat({**HI, "parts": [{"type": "file", "mediaType": "a/b", "url": "data:,x"}]}),
            "messages.0.parts.0.url",
        ),
        (chat(assistant({**CALL, "approval": 1})), "messages.0.approval"),
        (chat(assistant({"type": "tool-x"})), "messages.0.toolCallId"),
    ],
)
def test_an_error_names_the_place(body: dict[str, Any], path: str) -> None:
    with pytest.raises(HostError) as refused:
        read(body)
    assert refused.value.details == {"path": path}


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [{"type": "step-start"}],
        [CALL],
        [{**CALL, "state": "output-denied", "approval": {"id": "i", "approved": False}}],
        # The agent's own tool, whose result the chat only repeats.
        [{**CALL, "state": "output-available", "output": "dry", "providerExecuted": True}],
    ],
)
def test_an_assistants_message_alone_that_brings_nothing(parts: list[Any]) -> None:
    with pytest.raises(Invalid):
        read(chat(assistant(*parts)))


@pytest.mark.parametrize("body", [[], chat(HI, messageId="x"), chat(HI, assistant(CALL))])
def test_what_brings_nothing_new_is_refused(body: Any) -> None:
    with pytest.raises(HostError):
        read(body)
