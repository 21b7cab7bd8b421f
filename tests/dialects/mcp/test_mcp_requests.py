"""What ``/mcp`` refuses, in JSON-RPC's shape, and that a refusal writes nothing."""

import re
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.dialects.mcp import forms
from agui_host.runtimes.models import Agent
from runs.models import Run, Thread
from tests.asgi import ask_now
from tests.cast import Cast, start

pytestmark = pytest.mark.django_db(transaction=True)

HEAD: Any = {"jsonrpc": "2.0", "id": 1}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(name: Any = "echo", arguments: Any = None, **params: Any) -> Any:
    arguments = {"message": "Hi."} if arguments is None else arguments
    return HEAD | {
        "method": "tools/call",
        "params": {"_meta": MODERN, "name": name, "arguments": arguments, **params},
    }


def test_a_page_of_another_origin(cast: Cast) -> None:
    """The cookie of a session alone starts nothing."""
    headers = {**cast.alice.cookie, "origin": "https://evil.example"}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi."}]}
    for url, body in (("/mcp", call()), ("/a2a/echo/message:send", {"message": message})):
        assert ask_now("POST", url, headers, json=body).status == 403
    assert not Run.objects.exists()


def test_where_a_client_without_a_key_is_led(cast: Cast, settings: Settings) -> None:
    """To metadata of the very resource, which promise no authorization server."""
    for public in ("", "https://agents.example"):
        settings.AGUI_PUBLIC_URL = public
        refused = ask_now("POST", "/mcp", {}, json=call())
        assert refused.status == 401
        here = public or "http://localhost"
        (url,) = re.findall('resource_metadata="([^"]*)"', refused.headers["www-authenticate"])
        assert url == f"{here}/.well-known/oauth-protected-resource/mcp"
        for path in (url.removeprefix(here), "/.well-known/oauth-protected-resource"):
            document = ask_now("GET", path).json
            assert document["resource"] == f"{here}/mcp"
            assert document["bearer_methods_supported"] == ["header"]
            assert "authorization_servers" not in document
    assert ask_now("POST", "/.well-known/oauth-protected-resource", json={}).status == 405


REFUSED: list[tuple[Any, int, int]] = [
    (None, 400, -32600),
    ([], 400, -32600),
    ([call()], 400, -32600),
    ({"id": 1, "method": "ping"}, 400, -32600),
    (HEAD | {"method": 7}, 400, -32600),
    ({"jsonrpc": "2.0", "id": [], "method": "ping"}, 400, -32600),
    (call() | {"id": "k" * 1_001}, 400, -32600),
    (HEAD | {"method": "ping", "params": 7}, 400, -32602),
    (HEAD | {"method": "ping", "params": {"_meta": 7}}, 400, -32602),
    (HEAD | {"method": "no/method", "params": {"_meta": MODERN}}, 404, -32601),
    (call("nobody"), 400, -32602),
    (call(7), 400, -32602),
    (call(arguments=7), 400, -32602),
    (call(arguments={}), 400, -32602),
    (call(arguments={"a": "x", "b": "y"}), 400, -32602),
    (call(arguments={"message": "x", "thread_id": 7}), 400, -32602),
    (call(requestState="nonsense"), 400, -32602),
    (call(requestState=7), 400, -32602),
]


def test_a_malformed_request_writes_nothing(cast: Cast) -> None:
    Agent.objects.update(is_tool=True)
    for body, status, code in REFUSED:
        answer = ask_now("POST", "/mcp", cast.alice.headers, json=body)
        if body is None:
            answer = ask_now("POST", "/mcp", cast.alice.headers, body=b"null")
        assert (answer.status, answer.json["error"]["code"]) == (status, code), body
        assert answer.json["error"]["message"]
    answer = ask_now("POST", "/mcp", cast.alice.headers, body=b"{")
    assert (answer.status, answer.json["error"]["code"]) == (400, -32700)
    for header, value, code in (
        ("mcp-protocol-version", "2025-11-25", -32020),
        ("mcp-method", "tools/list", -32020),
        ("mcp-name", "docs", -32020),
    ):
        headers = {**cast.alice.headers, header: value}
        answer = ask_now("POST", "/mcp", headers, json=call())
        assert (answer.status, answer.json["error"]["code"]) == (400, code), header
    newer = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    answer = ask_now("POST", "/mcp", cast.alice.headers, json=call(_meta=newer))
    assert answer.json["error"]["data"]["supported"] == ["2026-07-28"]
    assert answer.json["error"]["code"] == -32022
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert ask_now("POST", "/mcp", cast.alice.headers, json=note).status == 202
    assert not Run.objects.exists()
    assert not Thread.objects.exists()


def test_runs_of_others_and_unmarked_agents(cast: Cast) -> None:
    run = start(cast.alice, threadId="t", messages=[{"role": "user", "content": "Hi."}])

    def ask(headers: Any, method: str, **params: Any) -> Any:
        body = HEAD | {"method": method, "params": {"_meta": MODERN, **params}}
        return ask_now("POST", "/mcp", headers, json=body).json

    mine, theirs = cast.alice.headers, cast.charlie.headers
    assert ask(mine, "tasks/get", taskId=str(run.pk))["result"]["status"] == "working"
    assert str(run.pk) in str(ask(mine, "resources/list"))
    assert ask(theirs, "resources/list")["result"]["resources"] == []
    for method, params in (
        ("tasks/get", {"taskId": str(run.pk)}),
        ("tasks/update", {"taskId": str(run.pk), "inputResponses": {}}),
        ("tasks/cancel", {"taskId": str(run.pk)}),
        ("resources/read", {"uri": f"agui://runs/{run.pk}"}),
        ("resources/read", {"uri": "agui://threads/t"}),
    ):
        assert ask(theirs, method, **params)["error"]["code"] == -32602, method
    assert ask(mine, "resources/read", uri="agui://threads/t%00")["error"]["code"] == -32602
    Agent.objects.update(is_tool=False)
    assert ask(mine, "tools/list")["result"]["tools"] == []
    assert ask(mine, "tools/call", name="echo", arguments={"message": "x"})["error"]
    ask(mine, "tasks/cancel", taskId=str(run.pk))
    assert ask(mine, "tasks/get", taskId=str(run.pk))["result"]["status"] == "cancelled"
    assert Run.objects.count() == 1


DECIDED = {"approved": False, "reason": "why"}
"""The form of an approval that no form can ask by its own members."""


@pytest.mark.parametrize(
    ("schema", "content", "payload"),
    [
        (None, {"approved": True}, {"approved": True}),
        ({"type": "boolean"}, {"answer": False}, False),
        ({"type": "array", "items": {}}, {"answer": "x"}, "x"),
        ({"enum": ["approve", "deny"]}, {"answer": "deny"}, "deny"),
        ({"oneOf": [{"const": 1, "title": "Approve"}, {"const": 2}]}, DECIDED, DECIDED),
        (
            {
                "type": "object",
                "properties": {"decision": {"$ref": "#/$defs/words"}},
                "$defs": {"words": {"enum": ["approve", "deny"]}},
            },
            DECIDED,
            DECIDED,
        ),
        (
            {"type": "object", "properties": {"n": {"type": "integer"}, "deep": {}}},
            {"n": 1},
            {"n": 1},
        ),
    ],
)
def test_forms(schema: Any, content: Any, payload: Any) -> None:
    question = {
        "id": "q",
        "reason": "ask",
        **({} if schema is None else {"responseSchema": schema}),
    }
    form = forms.elicitation(question)["params"]
    assert form["message"] == "ask"
    assert set(form["requestedSchema"]["properties"]) == set(content)
    answer = forms.answer(question, {"action": "accept", "content": content})
    assert answer == {"interruptId": "q", "status": "resolved", "payload": payload}
    declined = forms.answer(question, {"action": "decline"})
    assert declined == {"interruptId": "q", "status": "cancelled"}
