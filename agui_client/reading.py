"""Reads a run's log: from a cursor, over either transport, through any number of breaks.

Every function yields ``(seq, event)`` in order, each seq once. Repeated events are dropped, a gap
counts as a break: the reader comes back with its cursor, and the host's log fills it.
"""

import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import httpx

from agui_client.backoff import Backoff
from agui_client.cursors import Cursor, behind, seq_of
from agui_client.errors import Broken, Refused, Reset, reset_or
from agui_client.sockets import opened
from agui_client.sse import Decoder, FrameTooLarge

Event = dict[str, Any]
Numbered = tuple[int, Event]
Transport = Literal["sse", "websocket"]

_CURSOR = re.compile("(?:[0-9]+-)?[0-9]+")
TERMINAL = frozenset({"RUN_FINISHED", "RUN_ERROR"})
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request can succeed later."""


async def follow(
    http: httpx.AsyncClient,
    url: str,
    after: Cursor,
    *,
    transport: Transport,
    timeout: float,
    headers: Mapping[str, str] | None = None,
    verify: ssl.SSLContext | bool = True,
) -> AsyncGenerator[Numbered, None]:
    """The log at ``url`` after ``after``, until its terminal event.

    ``headers`` join those of ``http``; ``verify`` is for the WebSocket. Raises Refused, Reset,
    Untrusted, and ConnectionLost after ``timeout`` seconds without an answer.
    """
    backoff, first = Backoff(timeout), after
    while True:
        reading = (
            _sse(http, url, after, backoff, headers or {})
            if transport == "sse"
            else _socket(url, after, backoff, {**http.headers, **(headers or {})}, verify)
        )
        try:
            async with aclosing(reading):
                async for cursor, event in reading:
                    if (seq := seq_of(cursor)) <= seq_of(after):
                        continue
                    after = cursor
                    yield seq, event
                    if event["type"] in TERMINAL:
                        return
            # It ended before the run did, which counts as a break.
            broken = Broken("the stream ended early")
        except Broken as error:
            broken = error
        except Refused as refused:
            raise (refused if after == first else reset_or(refused)) from None
        await backoff.again(broken)


async def _sse(
    http: httpx.AsyncClient, url: str, after: Cursor, backoff: Backoff, more: Mapping[str, str]
) -> AsyncGenerator[tuple[Cursor, Event], None]:
    headers = {**more, "Accept": "text/event-stream", "Last-Event-ID": str(after)}
    try:
        async with http.stream("GET", url, headers=headers) as answer:
            await check(answer)
            backoff.succeeded()
            position = seq_of(after)
            async for cursor, event in frames(answer):
                if cursor is None:
                    continue
                if (seq := seq_of(cursor)) > position + 1:
                    raise Broken(f"{seq} came after {position}")
                position = max(position, seq)
                if event is not None:
                    yield cursor, event
    except httpx.TransportError as error:
        raise Broken(repr(error)) from error


async def _socket(
    url: str,
    after: Cursor,
    backoff: Backoff,
    headers: Mapping[str, str],
    verify: ssl.SSLContext | bool,
) -> AsyncGenerator[tuple[Cursor, Event], None]:
    """Frame k of the socket, from 1, is k events behind ``after``."""
    frames = 0
    async with opened(f"{socket_address(url)}?after={after}", headers, verify) as socket:
        async for text in socket:
            backoff.succeeded()
            frames += 1
            yield behind(after, frames), json.loads(text)


def socket_address(url: str) -> str:
    """The URL of a run's socket, from that of its events: ``/ws/runs/{id}/``."""
    parts = urlsplit(url)
    run = parts.path.removesuffix("/events").rpartition("/")[2]
    scheme = {"http": "ws", "https": "wss"}[parts.scheme]
    return urlunsplit((scheme, parts.netloc, f"/ws/runs/{run}/", "", ""))


async def frames(answer: httpx.Response) -> AsyncIterator[tuple[str | None, Event | None]]:
    """The (cursor, event) pairs of an answer; some have only one of the two. Raises Reset."""
    decoder = Decoder()
    try:
        async for chunk in answer.aiter_raw():
            for frame in decoder.feed(chunk):
                event = json.loads(frame.data) if frame.data else None
                if frame.event == "reset" and event is not None:
                    raise Reset.of(event)
                cursor = frame.id if frame.id and _CURSOR.fullmatch(frame.id) else None
                if cursor is not None or event is not None:
                    yield cursor, event
    except (FrameTooLarge, ValueError) as error:
        raise Broken(f"not a stream of events: {error}") from error


async def request(
    http: httpx.AsyncClient,
    method: str,
    url: str,
    timeout: float,
    *,
    headers: Mapping[str, str],
    params: Mapping[str, Any] | None = None,
    json: Any = None,
) -> httpx.Response:
    """Send until there is an answer: for requests that mean the same each time they are sent.

    Raises Refused, Untrusted, and ConnectionLost after ``timeout`` seconds without an answer.
    """
    backoff = Backoff(timeout)
    while True:
        try:
            answer = await http.request(method, url, params=params, json=json, headers=headers)
            await check(answer)
            return answer
        except (Broken, httpx.TransportError) as error:
            await backoff.again(error)


async def check(answer: httpx.Response) -> None:
    """Raises Refused for an answer that is final, Broken for a temporary one."""
    if answer.is_success:
        return
    body = await answer.aread()
    if answer.status_code in AGAIN:
        delay = answer.headers.get("retry-after", "")
        raise Broken(answer.status_code, float(delay) if delay.isdecimal() else 0.0)
    code, message, details = error_of(body)
    if code == "reset":
        raise Reset.of(details, answer.status_code)
    raise Refused(answer.status_code, code, message)


def error_of(body: bytes) -> tuple[str, str, Mapping[str, Any]]:
    """Code, message and details of an error answer, in the host's form or any other."""
    try:
        error = json.loads(body)["error"]
        return str(error["code"]), str(error["message"]), dict(error.get("details") or {})
    except (ValueError, KeyError, TypeError):
        return "", body[:200].decode("utf-8", "replace"), {}
