"""What ``/v1`` refuses, in OpenAI's shape, and that a refusal writes nothing."""

from typing import Any

import pytest

from agui_host.dialects.openai.responses import PREFIX
from agui_host.protocol.wire.fold import PLACES
from runs.models import Run, Thread
from tests.asgi import ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)

HI = {"role": "user", "content": "Hi."}
RESPONSES: list[Any] = [
    None,
    [],
    {},
    {"model": "echo"},
    {"model": 7, "input": "x"},
    {"model": "echo", "input": 7},
    {"model": "echo", "input": []},
    {"model": "echo", "input": ["x"]},
    {"model": "echo", "input": [{"type": "mystery"}]},
    {"model": "echo", "input": [{"role": "robot", "content": "x"}]},
    {"model": "echo", "input": [{"role": "user", "content": [{"type": "mystery"}]}]},
    {"model": "echo", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
    {"model": "echo", "input": [{"type": "mcp_approval_response", "approval_request_id": "q"}]},
    {"model": "echo", "input": "x", "stream": "yes"},
    {"model": "echo", "input": "x", "metadata": {"a": 1}},
    {"model": "echo", "input": "x", "tools": [{"type": "function"}]},
    {"model": "echo", "input": "x", "conversation": 7},
    {"model": "echo", "input": "x", "conversation": "c", "previous_response_id": "r"},
    {"model": "echo", "input": "x", "conversation": "c" * 256},
]
CHATS: list[Any] = [
    {"model": "echo", "messages": []},
    {"model": "echo", "messages": [{"role": "robot"}]},
    {"model": "echo", "messages": [{"role": "tool", "content": "x"}]},
    {"model": "echo", "messages": [{"role": "tool", "content": "x", "tool_call_id": "c"}]},
    {"model": "echo", "messages": [HI, {"role": "assistant", "tool_calls": [{"id": 7}]}]},
    {"model": "echo", "messages": [HI], "n": 2},
]


def refused(cast: Cast, method: str, url: str, statuses: tuple[int, ...], **body: Any) -> None:
    answer = ask_now(method, f"/v1/{url}", cast.alice.headers, **body)
    assert answer.status in statuses, (url, body, answer.body)
    error = answer.json["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]


def test_a_malformed_body_writes_nothing(cast: Cast) -> None:
    for body in RESPONSES:
        refused(cast, "POST", "responses", (400, 422), json=body)
    for body in CHATS:
        refused(cast, "POST", "chat/completions", (400, 422), json=body)
    refused(cast, "POST", "responses", (400,), body=b"{")
    refused(cast, "POST", "responses", (404,), json={"model": "nobody", "input": "x"})
    refused(cast, "PUT", "responses", (405,))
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


def test_cursors_and_responses_of_others(cast: Cast) -> None:
    run = start(cast.alice, threadId="t", messages=[HI])
    own = f"responses/{PREFIX}{run.pk.hex}"
    for cursor in ("-1", "x", str(PLACES), "9" * 30):
        refused(cast, "GET", f"{own}?stream=true&starting_after={cursor}", (400,))
    refused(cast, "DELETE", own, (409,))  # it has not ended
    assert ask_now("GET", f"/v1/{own}", cast.alice.headers).json["status"] == "queued"
    for method, url in (("GET", own), ("DELETE", own), ("POST", f"{own}/cancel")):
        answer = ask_now(method, f"/v1/{url}", cast.charlie.headers)
        assert (answer.status, answer.json["error"]["type"]) == (404, "not_found_error")
    body = {"model": "echo", "input": "x", "previous_response_id": f"{PREFIX}{run.pk.hex}"}
    assert ask_now("POST", "/v1/responses", cast.charlie.headers, json=body).status == 404
    assert Run.objects.count() == 1
    assert ask_now("DELETE", f"/v1/{own}", cast.bob.headers).status == 403
    stopped = ask_now("POST", f"/v1/{own}/cancel", cast.alice.headers)
    assert stopped.json["status"] == "cancelled"
    assert ask_now("DELETE", f"/v1/{own}", cast.alice.headers).json["deleted"] is True
    assert not Thread.objects.exists()
