"""Request headers, bounded before any app joins, parses or digests them."""

from collections.abc import Iterable

from agui_host.errors import HeadersTooLarge
from agui_host.web.asgi_http import refuse
from agui_host.web.scope import App, Receive, Scope, Send

MOST_HEADERS = 100
"""Header lines of a request."""
MOST_BYTES = 32 * 1024
"""Bytes of all names and values, as granian's buffer (``agui_host/embedded/supervisor.py``)."""
MOST_COOKIE_BYTES = 16 * 1024
MOST_COOKIES = 300
"""Cookies of a request: parsing one of no bytes costs as much as parsing a real one."""


class BoundedHeaders:
    """ASGI middleware: 431 (a socket: 4400) for a request with too many or too large headers.

    ``refusing`` wraps the answer, which needs the response headers of all others; it gets a scope
    without the headers that were refused.
    """

    def __init__(self, app: App, refusing: type | None = None) -> None:
        self.app = app
        self._refuse: App = refusing(_answer) if refusing else _answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_bounded(scope.get("headers", ())):
            return await self.app(scope, receive, send)
        await self._refuse({**scope, "headers": []}, receive, send)


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


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(scope, receive, send, HeadersTooLarge(headers={"Connection": "close"}))
