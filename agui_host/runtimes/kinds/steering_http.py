"""How a message reaches a remote agent: POSTed to an address that it, or its row, declares."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urljoin, urlsplit

import httpx

from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.context.inbox import InboxMessage
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds.steering import Delivery

DECLARED = "agui-steering"
"""The header of a stream with which its agent declares the address, as ``steering`` of a row."""
PLACEHOLDER = re.compile(r"\{(thread_id|run_id)\}")
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between tries; the agent recognises a message by its id."""
AGAIN = frozenset({408, 425, 429})


def address_of(path: str, response: httpx.Response, ctx: RunContext, home: str) -> str:
    """Where the agent that answered takes messages to its run; empty if it takes none.

    ``path`` is the row's, relative to the stream's Content-Location, or else to its URL. ``home``
    is the agent's URL: no other origin gets messages.
    """
    path = path or response.headers.get(DECLARED, "")
    if not path:
        return ""
    names = {"thread_id": ctx.thread_id, "run_id": ctx.run_id}
    try:
        stream = urljoin(str(response.url), response.headers.get("content-location", ""))
        # One pass: a client's id is not searched for placeholders.
        filled = PLACEHOLDER.sub(lambda match: quote(names[match[1]], safe=""), path)
        address = urljoin(stream, filled)
        return address if origin(address) == origin(home) else ""
    except ValueError:
        return ""


async def say(post: Callable[[bytes], Awaitable[int]], message: InboxMessage) -> Delivery:
    """Deliver a message; ``post`` gives the status of the answer. 202: the agent reads it later."""
    content, pauses = dumps(message).encode(), list(PAUSES)
    while True:
        try:
            status = await post(content)
        except httpx.TransportError:
            status = 0
        if httpx.codes.is_success(status):
            return Delivery.KEPT if status == httpx.codes.ACCEPTED else Delivery.READ
        if not pauses or not (
            status == 0 or status in AGAIN or httpx.codes.is_server_error(status)
        ):
            return Delivery.REFUSED
        await asyncio.sleep(pauses.pop(0))


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
