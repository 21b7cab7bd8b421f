"""Bodies are bounded on every route, before anything is spooled or anybody is asked who it is."""

import asyncio
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.web.bodies import Bodies
from tests.asgi import http_scope

ROUTES = [
    "/login/",
    "/agui",
    "/agui/agent/echo/connect",
    "/api/v1/runs",
    "/api/v1/runs?wait=1",
    "/agents/run",
    "/admin/login/",
    "/no/such/page",
]
JSON = {"accept": "application/json"}


class Endless:
    """A client that goes on sending chunks, or stops after some and never says more."""

    def __init__(self, chunk: bytes, *, chunks: int | None = None) -> None:
        self.chunk, self.chunks, self.taken = chunk, chunks, 0

    async def receive(self) -> dict[str, Any]:
        if self.taken == self.chunks:
            await asyncio.get_running_loop().create_future()
        self.taken += 1
        return {"type": "http.request", "body": self.chunk, "more_body": True}


async def respond(client: Endless, path: str, headers: dict[str, str], app: Any = None) -> Any:
    """The status, headers and body of the answer to a body without end."""
    from agui_host.web.asgi import application

    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    scope = http_scope("POST", path, headers)
    async with asyncio.timeout(10):
        await (app or application)(scope, client.receive, send)
    answer = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], answer, messages[1]["body"]


@pytest.mark.parametrize("path", ROUTES)
async def test_chunks_are_counted(settings: Settings, path: str) -> None:
    settings.AGUI_MAX_BODY_BYTES = 10_000
    client = Endless(b"x" * 1_000)
    status, headers, body = await respond(client, path, JSON)
    assert (status, client.taken) == (413, 11)
    assert b'"code":"too_large"' in body
    assert headers["connection"] == "close"
    assert headers["x-request-id"]


@pytest.mark.parametrize("path", ROUTES)
async def test_a_declared_length_is_believed_before_a_byte_is_read(
    settings: Settings, path: str
) -> None:
    client = Endless(b"x")
    length = {"content-length": str(settings.AGUI_MAX_BODY_BYTES + 1)}
    status, _, body = await respond(client, path, {**JSON, **length})
    assert (status, client.taken) == (413, 0)
    assert b'"code":"too_large"' in body


@pytest.mark.parametrize("path", ROUTES)
async def test_a_body_that_stops_half_way_has_a_deadline(settings: Settings, path: str) -> None:
    settings.AGUI_BODY_TIMEOUT = 0.05
    status, _, body = await respond(Endless(b"{", chunks=1), path, JSON)
    assert status == 408
    assert b'"code":"request_timeout"' in body


async def test_people_get_a_sentence(settings: Settings) -> None:
    settings.AGUI_MAX_BODY_BYTES = 10
    status, headers, body = await respond(
        Endless(b"x" * 11), "/login/", {"accept": "text/html,*/*"}
    )
    assert (status, body) == (413, b"The body is larger than 10 bytes.")
    assert headers["content-type"] == "text/plain; charset=utf-8"


async def test_one_address_holds_a_quarter_of_the_bytes_and_all_together_all_of_them(
    settings: Settings,
) -> None:
    settings.AGUI_BODIES_MAX_BYTES = 400
    bodies = Bodies(lambda *_: pytest.fail("no body was whole"))
    settings.AGUI_TRUSTED_PROXIES = 1

    def ask(size: int, address: str) -> Any:
        client = Endless(b"x" * size, chunks=1)
        return asyncio.create_task(respond(client, "/agui", {"x-forwarded-for": address}, bodies))

    slow = [ask(100, f"10.0.0.{n}") for n in range(4)]
    await asyncio.sleep(0)
    while bodies._bytes < 400:
        await asyncio.sleep(0)
    assert (await ask(1, "10.0.0.9"))[0] == 503
    slow.pop().cancel()
    while bodies._bytes > 300:
        await asyncio.sleep(0)
    assert (await ask(1, "10.0.0.0"))[0] == 503
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    assert (bodies._bytes, bodies._bytes_of) == (0, {})
