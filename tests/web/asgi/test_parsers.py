"""Parsers of other projects get each event from our streams, and no empty one."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from httpx2 import EventSource, Request, Response
from openai._streaming import SSEDecoder

from agui_host.protocol.views.legacy import Older
from agui_host.web import sse
from events.frames import Frames
from tests.events.test_frames import PLAIN, RAW, frames

END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
WIRES = {"events": sse.EVENTS, "without retry": sse.WITHOUT_RETRY}
VIEWS: dict[str, tuple[sse.View, int]] = {
    "whole": (sse.whole, 7),
    "rawless": (sse.rawless, 4),
    "older": (Older((0, 0, 40), raw=False), 4),
}


async def batches(*items: Frames | None) -> AsyncIterator[Frames | None]:
    for item in items:
        yield item


async def body(wire: sse.Wire, view: sse.View) -> bytes:
    """A stream with silences, and with events that some readers do not see."""
    bodies: list[bytes] = []

    async def send(message: Any) -> None:
        bodies.append(message.get("body", b""))

    log = (None, frames(PLAIN, RAW), None, frames(RAW, first=3), frames(RAW, PLAIN, first=4))
    last = frames(PLAIN, END, first=6)
    await sse.stream(send, batches(*log, None, last, None), stall=5, view=view, wire=wire)
    await sse.refuse(send, wire)
    return b"".join(bodies)


def by_openai(text: bytes) -> Iterator[str]:
    for event in SSEDecoder().iter_bytes(iter([text])):
        yield event.data


def by_httpx(text: bytes) -> Iterator[str]:
    headers = {"content-type": "text/event-stream"}
    request = Request("GET", "http://localhost")
    answer = Response(200, headers=headers, content=text, request=request)
    for event in EventSource(answer):
        yield event.data


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("view", VIEWS)
async def test_no_event_is_empty(wire: str, view: str) -> None:
    show, number = VIEWS[view]
    text = await body(WIRES[wire], show)
    for parse in (by_openai, by_httpx):
        assert [bool(data) for data in parse(text)] == [True] * number
    assert text.startswith(b": heartbeat\n" if wire == "without retry" else b"retry: 1000\n")


async def test_a_heartbeat_is_sent_at_once() -> None:
    text = await body(sse.EVENTS, sse.whole)
    assert text.count(sse.HEARTBEAT) == 4
    assert b"\n\n:" in text
    assert b": heartbeat\n\n" not in text
