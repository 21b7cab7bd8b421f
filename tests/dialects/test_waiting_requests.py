"""While a run is awaited, no value of the request that began it is kept in memory."""

import asyncio
import gc
import json
import sys
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Exchange
from tests.cast import Cast
from tests.dialects.mcp.test_mcp_requests import HEAD, call
from tests.web.resets.rewinding import started

pytestmark = pytest.mark.django_db(transaction=True)

MARK = [sys.intern("of a request"), 41, 43]
BOTH = {"accept": "application/json, text/event-stream"}
SEND = {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": MARK}]}
MESSAGE = {"message": SEND}
TOOL = {"name": "look", "parameters": {"type": "object", "properties": {"a": {"enum": MARK}}}}
RESPONSE = {"model": "echo", "input": "Hi.", "tools": [{"type": "function", **TOOL}]}
CHAT = {
    "model": "echo",
    "messages": [{"role": "user", "content": "Hi."}],
    "tools": [{"type": "function", "function": TOOL}],
}
REQUESTS: dict[str, tuple[str, dict[str, str], Any]] = {
    "mcp": ("/mcp", {}, call(arguments={"message": "Hi.", "more": MARK})),
    "mcp stream": ("/mcp", BOTH, call(arguments={"message": "Hi.", "more": MARK})),
    "a2a": ("/a2a/echo/message:send", {}, MESSAGE),
    "a2a stream": ("/a2a/echo/message:stream", {}, MESSAGE),
    "a2a rpc": ("/a2a/echo", {}, HEAD | {"method": "SendMessage", "params": MESSAGE}),
    "a2a rpc stream": (
        "/a2a/echo",
        {},
        HEAD | {"method": "SendStreamingMessage", "params": MESSAGE},
    ),
    "responses": ("/v1/responses", {}, RESPONSE),
    "chat": ("/v1/chat/completions", {}, CHAT),
    "chat stream": ("/v1/chat/completions", {}, CHAT | {"stream": True}),
}


def copies() -> int:
    """How many lists in memory are like the one that the requests bring."""
    gc.collect()
    return sum(each == MARK for each in gc.get_objects() if type(each) is list)


async def dropped(others: int = 0) -> None:
    """The list of the tests and ``others`` are the only ones, soon."""
    async with asyncio.timeout(5):
        while copies() > 1 + others:
            await asyncio.sleep(0.1)


@pytest.fixture(autouse=True)
def _tools(cast: Cast) -> None:
    Agent.objects.update(is_tool=True)


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_call(cast: Cast, writer: JournalWriter, name: str) -> None:
    url, more, body = REQUESTS[name]
    headers = {**cast.alice.headers, **more, "content-type": "application/json"}
    exchange = Exchange("POST", url, headers, body=json.dumps(body).encode())
    opening = asyncio.create_task(exchange.__aenter__())
    live = await started(writer)
    # Tools are part of the run's input, which its intake in the worker has: here, in this process.
    await dropped(others=int("tools" in body))
    await live.end()
    await opening
    assert b"error" not in (await exchange.rest()).replace(b'"error":null', b"")
    assert exchange.status == 200
    await exchange.__aexit__()


async def test_a_subscription(cast: Cast, writer: JournalWriter) -> None:
    sending = json.dumps(HEAD | {"method": "message/send", "params": {
        "message": {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "Hi."}]},
        "configuration": {"blocking": False},
    }})  # fmt: skip
    headers = {**cast.alice.headers, "content-type": "application/json"}
    async with Exchange("POST", "/a2a/echo", headers, body=sending.encode()) as exchange:
        await exchange.rest()
    run = await db(Run.objects.get)
    params = {"id": str(run.pk), "metadata": MARK}
    body = json.dumps(HEAD | {"method": "SubscribeToTask", "params": params}).encode()
    async with Exchange("POST", "/a2a/echo", headers, body=body) as exchange:
        live = await started(writer)
        await exchange.until(b"WORKING")
        await dropped()
        await live.end()
        assert b"COMPLETED" in await exchange.rest()
