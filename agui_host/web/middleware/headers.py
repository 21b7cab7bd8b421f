"""Request headers, bounded before any app joins, parses or digests them."""

from collections.abc import Iterable

from agui_host.errors import HeadersTooLarge
from agui_host.web.asgi_http import refuse
from agui_host.web.scope import Receive, Scope, Send

MOST_HEADERS = 100
"""Header lines of a request."""
MOST_BYTES = 32 * 1024
"""Bytes of all names and values, as granian's buffer (``agui_host/embedded/supervisor.py``)."""
MOST_COOKIE_BYTES = 16 * 1024
MOST_COOKIES = 300
"""Cookies of a request: parsing one of no bytes costs as much as parsing a real one."""


def is_bounded(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether these header lines are within the bounds above."""
    size = cookie_size = cookies = 0
    for lines, (name, value) in enumerate(headers, 1):
        size += len(name) + len(value)
        if lines > MOST_HEADERS or size > MOST_BYTES:
            return False
        if name.lower() == b"cookie":
            cookie_size += len(value)
            cookies += value.count(b";") + 1
    return cookie_size <= MOST_COOKIE_BYTES and cookies <= MOST_COOKIES


async def refuse_headers(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 431 (a socket: 4400)."""
    await refuse(scope, receive, send, HeadersTooLarge(headers={"Connection": "close"}))
