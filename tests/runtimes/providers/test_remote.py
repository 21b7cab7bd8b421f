"""The providers that ask a server: what they send, what they take, and servers that hang or lie."""

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from django.test import override_settings
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.person import Person
from agui_host.runtimes.models import Agent
from agui_host.runtimes.providers import chain, remote
from agui_host.runtimes.providers.base import Query
from agui_host.security import outbound
from agui_host.teams.models import Team
from events.models import Finding
from events.writer import JournalWriter
from tests.asgi import ask
from tests.cast import Cast, Register, perform, start
from tests.runtimes.kinds.peers import Call, Script, peer

KEY = "a key that nobody sees"


@pytest.fixture(autouse=True)
def reachable(settings: Settings) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]


def answering(status: int, body: Any, *, kind: str = "application/json", **more: str) -> Script:
    """A server that gives every request this answer."""

    async def script(call: Call) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        await call.answer(status, data, content_type=kind, **more)

    return script


async def gathered(script: Script, name: str = "http", **options: Any) -> tuple[Any, list[Call]]:
    async with peer(script) as server:
        entry = {"name": name, "url": server.url, **options}
        query = Query(Team(slug="acme"), "", "How do refunds work?", "", Person("42"))
        return await chain.gather([entry], query), server.calls


async def test_a_retriever_is_asked_the_question() -> None:
    entries = [{"description": "Rules", "value": f"Rule {n}", "score": 1} for n in range(9)]
    result, calls = await gathered(
        answering(200, {"entries": entries}), most=2, api_key=KEY, parameters={"index": "help"}
    )
    assert [each["value"] for each in result.added] == ["Rule 0", "Rule 1"]
    assert json.loads(calls[0].body) == {
        "question": "How do refunds work?", "most": 2, "parameters": {"index": "help"},
        "user": "42",
    }  # fmt: skip
    assert f"authorization: Bearer {KEY}" in calls[0].head


LIES: dict[str, Script] = {
    "an error": answering(500, {}),
    "a redirect": answering(307, {}, location="http://127.0.0.1:1/"),
    "no JSON": answering(200, b"<html>"),
    "deep JSON": answering(200, b"[" * 200_000),
    "a list": answering(200, []),
    "no entries": answering(200, {"entries": {}}),
    "entries of numbers": answering(200, {"entries": [1]}),
    "a NUL": answering(200, {"entries": [{"description": "x", "value": "\0"}]}),
    "half a character": answering(200, {"entries": [{"description": "x", "value": "\ud800"}]}),
    "many values": answering(200, b'{"entries": [' + b"[]," * 150_000 + b"[]]}"),
    "a value that is no text": answering(200, {"entries": [{"description": "x", "value": 1}]}),
    "too much": answering(200, b'{"entries": [], "x": "' + b"x" * 1_000_000 + b'"}'),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_server_that_lies_adds_nothing(lie: str) -> None:
    result, _ = await gathered(LIES[lie])
    assert result.added == []
    assert result.failed == [{"provider": "http", "reason": "error"}]


async def hang(call: Call) -> None:
    await call.gone()


async def drip(call: Call) -> None:
    await call.raw(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")
    while True:
        await call.raw(b" ")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("script", [hang, drip])
async def test_a_server_that_hangs_holds_a_run_no_longer_than_its_bound(
    script: Callable[[Call], Awaitable[None]],
) -> None:
    begun = time.monotonic()
    result, _ = await gathered(script, seconds=0.3)
    assert time.monotonic() - begun < 3
    assert result.failed == [{"provider": "http", "reason": "timeout"}]


@pytest.mark.parametrize("moment", ["DELETE", "resources/read"])
async def test_a_session_whose_end_hangs_holds_a_run_no_longer(moment: str) -> None:
    """Headers that never end count for no deadline of single reads."""

    async def script(call: Call) -> None:
        if moment.encode() in call.body or call.head.startswith("DELETE"):
            await call.raw(b"HTTP/1.1 200 X\r\n")
            while True:
                await call.raw(b"x: y\r\n")
                await asyncio.sleep(0.05)
        await serving(streams=False)(call)

    begun = time.monotonic()
    async with asyncio.timeout(10):
        result, calls = await gathered(script, "mcp", resources=["docs://a"], seconds=3)
    assert time.monotonic() - begun < 7
    assert calls[-1].head.startswith("DELETE")
    assert bool(result.failed) == (moment != "DELETE")


@pytest.mark.parametrize(("size", "is_apart"), [(100, False), (500_000, True)])
async def test_long_answers_are_read_off_the_event_loop(size: int, is_apart: bool) -> None:
    thread = await remote.read("a team", b" " * size, lambda text: threading.get_ident())
    assert (thread != threading.get_ident()) == is_apart


def test_certificates_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    outbound.client()
    monkeypatch.setattr(httpx, "create_ssl_context", None)
    outbound.client()


async def test_an_address_inside_is_refused(settings: Settings) -> None:
    settings.AGUI_OUTBOUND_ALLOW = []
    result, calls = await gathered(answering(200, {"entries": []}))
    assert result.failed == [{"provider": "http", "reason": "error"}]
    assert calls == []


def serving(*, streams: bool) -> Script:
    """An MCP server with one resource; with a session, as its answers say."""

    async def script(call: Call) -> None:
        if call.head.startswith("DELETE"):
            return await call.answer(200)
        request = json.loads(call.body)
        if "id" not in request:
            return await call.answer(202)
        if request["method"] == "initialize":
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {}}
        else:
            assert "mcp-session-id: s1" in call.head
            uri = request["params"]["uri"]
            texts = {"uri": uri, "text": f"Text of {uri}"}
            result = {"contents": [texts, {"uri": uri, "blob": "AAAA"}]}
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        if not streams:
            return await answering(200, answer, mcp_session_id="s1")(call)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        frames = "".join(f"event: message\r\ndata: {json.dumps(m)}\r\n\r\n" for m in (note, answer))
        await answering(200, frames.encode(), kind="text/event-stream", mcp_session_id="s1")(call)

    return script


@pytest.mark.parametrize("streams", [False, True])
async def test_resources_of_an_mcp_server(streams: bool) -> None:
    result, calls = await gathered(
        serving(streams=streams), "mcp", resources=["docs://a", "docs://b"], api_key=KEY
    )
    assert [(each["description"], each["value"]) for each in result.added] == [
        ("docs://a", "Text of docs://a"), ("docs://b", "Text of docs://b"),
    ]  # fmt: skip
    assert all(f"authorization: Bearer {KEY}" in call.head for call in calls)
    assert calls[-1].head.startswith("DELETE")


@pytest.mark.parametrize(
    "answer",
    [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
        [],
    ],
)
async def test_an_mcp_server_that_refuses_adds_nothing(answer: Any) -> None:
    result, _ = await gathered(answering(200, answer), "mcp", resources=["docs://a"])
    assert result.failed == [{"provider": "mcp", "reason": "error"}]


@pytest.mark.django_db(transaction=True)
async def test_a_team_sets_it_and_a_failure_is_a_finding(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "helped", lambda ctx: ctx.text)
    async with peer(answering(500, {})) as server:
        entry = {"name": "http", "url": server.url, "api_key": KEY}
        url = "/api/v1/agents/helped"
        body = {"context_providers": [entry]}
        assert (await ask("PATCH", url, cast.bob.headers, json=body)).status == 403
        changed = await ask("PATCH", url, cast.alice.headers, json=body)
        assert changed.status == 200, changed.body
        assert KEY not in changed.body.decode()
        row = await db(Agent.objects.get, pk=agent.pk)
        assert KEY not in json.dumps(row.context_providers)
        run = await perform(await db(lambda: start(cast.alice, row)), writer)
        assert f"Bearer {KEY}" in server.calls[0].head
    assert run.status == "succeeded"
    rows = await db(lambda: list(Finding.objects.filter(journal=run.pk).values("rule", "action")))
    assert rows == [{"rule": "context.http", "action": "skipped"}]


@pytest.mark.django_db(transaction=True)
async def test_an_address_inside_cannot_be_set(cast: Cast) -> None:
    body = {"context_providers": [{"name": "http", "url": "http://169.254.169.254/"}]}
    with override_settings(AGUI_OUTBOUND_ALLOW=[]):
        answer = await ask("PATCH", "/api/v1/agents/echo", cast.alice.headers, json=body)
    assert answer.status == 422
