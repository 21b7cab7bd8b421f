"""Items of OpenAI's Responses that come whole, and both ways to say what a run used."""

from typing import Any

import pytest

from agui_host.dialects.openai.items import (
    approval,
    chat_usage,
    client_call,
    of_message,
    server_call,
    usage,
)


def test_the_agents_tools_are_not_the_clients_to_run() -> None:
    own, theirs = server_call("c", "search"), client_call("c", "search")
    assert (own["type"], own["id"], own["server_label"]) == ("mcp_call", "mcp_c", "host")
    assert (theirs["type"], theirs["id"], theirs["call_id"]) == ("function_call", "fc_c", "c")
    assert own["status"] == theirs["status"] == "in_progress"


def test_a_question_is_called_by_its_message() -> None:
    question = {"id": "i", "reason": "confirm", "message": "Really?"}
    assert approval(question, "{}")["name"] == "Really?"
    assert approval({**question, "message": ""}, "{}")["name"] == "confirm"


def test_usage_is_the_sum_of_all_models() -> None:
    reported = [
        {"inputTokens": 3, "outputTokens": 2, "cachedInputTokens": 1},
        {"inputTokens": 10, "reasoningTokens": 4, "outputTokens": None},
    ]
    assert usage(reported) == {
        "input_tokens": 13,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 15,
    }
    counts = {"prompt_tokens": 13, "completion_tokens": 2, "total_tokens": 15}
    assert chat_usage(reported) == counts
    assert chat_usage([{"inputTokens": 1, "totalTokens": 9}]) == {
        **counts, "prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 9,
    }  # fmt: skip


def test_a_run_that_reports_nothing_has_used_nothing() -> None:
    assert usage([]) == {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    counts = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert chat_usage([]) == counts


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"role": "user", "content": "hi"}, [{"type": "input_text", "text": "hi"}]),
        ({"role": "assistant", "content": "ho"}, [{"type": "output_text", "text": "ho"}]),
        (
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image", "source": {"type": "url", "value": "https://x/y"}},
                    {
                        "type": "document",
                        "source": {"type": "data", "value": "AA", "mimeType": "text/csv"},
                    },
                    {"type": "audio", "source": {"type": "url", "value": "https://x/z"}},
                    {"type": "image", "source": {"type": "file", "value": "f"}},
                ],
            },
            [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "detail": "auto", "image_url": "https://x/y"},
                {"type": "input_file", "file_data": "data:text/csv;base64,AA"},
                {"type": "input_file", "file_url": "https://x/z"},
                {"type": "input_image", "file_id": "f"},
            ],
        ),
    ],
)
def test_a_message_is_an_item(message: dict[str, Any], content: list[Any]) -> None:
    item = of_message({"id": "m", **message})
    assert item is not None
    assert (item["id"], item["type"], item["role"]) == ("m", "message", message["role"])
    assert item["content"] == content


def test_a_result_is_the_output_of_its_call() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, "odd"]
    message = {"id": "m", "role": "tool", "toolCallId": "c", "content": parts}
    item = of_message(message)
    assert item == {
        "id": "m", "type": "function_call_output", "call_id": "c", "output": "ab",
        "status": "completed",
    }  # fmt: skip


def test_openai_has_no_reasoning_role() -> None:
    assert of_message({"id": "m", "role": "reasoning", "content": "hm"}) is None
