"""Every route, and every method of the host socket, as something to send hostile input to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote

from channels.testing import WebsocketCommunicator
from hypothesis import strategies as st

from agui_host.web.asgi import application
from tests.asgi import HOST, Exchange
from tests.soak.cost.hostile import MOST, TEXT, VALUE, encoded, within
from tests.tenancy.doors import ASGI, SOCKETS, Door
from tests.tenancy.doors import METHODS as CALLS
from tests.tenancy.test_doors import DJANGO, OWN, House

QUERY = (
    "after", "at", "limit", "page", "pageSize", "cursor", "wait", "q", "search", "since", "until",
    "status", "agent", "offset", "protocol", "format", "x",
)  # fmt: skip
PATIENCE = 1.0
"""Seconds for one answer, or for as much of a stream as comes until then."""
Sent = tuple[str, bytes]


def doors() -> Iterator[tuple[str, Door, str]]:
    """Each route with each of its methods."""
    for table in (DJANGO, ASGI):
        for route, door in table.items():
            for method in door.answers:
                yield route, door, method


def hostile_request(house: House, door: Door, method: str) -> st.SearchStrategy[Sent]:
    """A query and a body."""
    texts = TEXT.map(lambda text: quote(text[:7_000], errors="replace"))
    pairs = st.tuples(st.sampled_from(QUERY), texts).map(lambda pair: "=".join(pair)[:8_000])
    queries = st.lists(pairs, max_size=2).map("&".join)
    if method not in ("POST", "PUT", "PATCH"):
        return st.tuples(queries, st.just(b""))
    template = house.body(door) if door.body is not None else {}
    bodies = st.one_of(within(template), VALUE).map(encoded)
    return st.tuples(st.one_of(st.just(""), queries), bodies)


def request_sender(house: House, route: str, door: Door, method: str) -> Callable[[Sent], Any]:
    """What sends such input as the owner of everything."""
    url = house.url(door, route)

    def make(value: Sent) -> Callable[[], Awaitable[None]]:
        query, body = value
        address = url + ("&" if "?" in url else "?") + query if query else url
        headers = {**OWN, **house.askers["owner"], **door.headers}
        if body:
            headers["content-type"] = "application/json"

        async def run() -> None:
            async with Exchange(method, address, headers, body=body) as exchange:
                try:
                    async with asyncio.timeout(PATIENCE):
                        while await exchange.chunk() is not None:
                            pass
                except TimeoutError:
                    return  # a stream, whose first seconds were measured

        return run

    return make


def hostile_frame() -> st.SearchStrategy[Any]:
    """A frame for the host socket: a call with a hostile value in it, or any value."""
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": template}
        for method, (template, _) in CALLS.items()
    ]
    return st.one_of(st.sampled_from(calls).flatmap(within), VALUE).map(encoded)


def frame_sender(house: House, url: str) -> Callable[[bytes], Any]:
    """What sends a frame to a socket, and reads until the socket has been silent for a moment."""

    def make(frame: bytes) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            headers = {"host": HOST, **OWN, **house.askers["owner"]}
            raw = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
            socket = WebsocketCommunicator(application, url, headers=raw)
            await socket.connect(PATIENCE)
            await socket.send_input({"type": "websocket.receive", "text": frame.decode()[:MOST]})
            try:
                await socket.receive_output(PATIENCE)
            except TimeoutError:
                return
            await socket.disconnect(timeout=PATIENCE)

        return run

    return make


def sockets(house: House) -> Iterator[tuple[str, str]]:
    """Each socket that stays open, or answers, with its address."""
    for route, door in SOCKETS.items():
        if door.answers["WS"].owner >= 0:
            yield route, house.url(door, route)
