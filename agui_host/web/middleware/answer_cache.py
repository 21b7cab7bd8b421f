"""Answers that are the same for everybody, sent again from memory.

The description of the API has half a megabyte. It is made once per process, but Django's middleware
and the choice of its format took 3 ms of each request, and strangers can send many of them.
"""

from collections import OrderedDict
from collections.abc import MutableMapping
from typing import Any

from agui_host.web.scope import App, Receive, Scope, Send, headers_of

MOST = 8
"""Answers that are kept: a stranger can ask for the same in any number of ways."""
PERSONAL = ("cookie", "authorization", "if-none-match", "range")
"""Requests with these headers get their own answer."""

VARIES = ("accept", "host", "x-forwarded-proto")
"""Headers that decide about the format, or whether Django answers at all or redirects to TLS."""

Key = tuple[bytes, str]
"""The query and these headers."""


class AnswerCache:
    """ASGI middleware for routes whose answer to a GET depends on nothing but the ``Key``."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._answers: OrderedDict[Key, list[MutableMapping[str, Any]]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope)
        if scope["method"] != "GET" or any(name in headers for name in PERSONAL):
            return await self.app(scope, receive, send)
        key = scope["query_string"], "\n".join(headers.get(name, "") for name in VARIES)
        if (messages := self._answers.get(key)) is None:
            return await self._keep(key, scope, receive, send)
        self._answers.move_to_end(key)
        for message in messages:
            await send(dict(message))

    async def _keep(self, key: Key, scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[MutableMapping[str, Any]] = []

        async def noted(message: MutableMapping[str, Any]) -> None:
            messages.append(dict(message))
            await send(message)

        await self.app(scope, receive, noted)
        if not messages:  # the client has left
            return
        start = messages[0]
        if start["status"] == 200 and not any(name == b"set-cookie" for name, _ in _named(start)):
            self._answers[key] = messages
            while len(self._answers) > MOST:
                self._answers.popitem(last=False)


def _named(start: MutableMapping[str, Any]) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value) for name, value in start["headers"]]
