"""Answers for one caller only: no cache keeps them, or passes them on to another caller."""

from collections.abc import MutableMapping
from typing import Any

from agui_host.web.scope import App, RawHeaders, Receive, Scope, Send, varying

CREDENTIALS = ("Authorization", "Cookie", "X-AGUI-User")
"""Request headers that decide an answer's content."""


class PrivateAnswers:
    """ASGI middleware: ``no-store`` unless an answer names its own rule, and ``Vary``.

    Streams, sealed pages of a log and static files name theirs. Public answers stay as they are.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def private(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _private(list(message.get("headers", ())))}
            await send(message)

        await self.app(scope, receive, private)


def _private(headers: RawHeaders) -> RawHeaders:
    named = {name.lower(): value for name, value in headers}
    rule = named.get(b"cache-control")
    if rule is None and b"etag" not in named:
        headers = [*headers, (b"cache-control", b"no-store")]
    elif rule is None or b"public" in rule:
        return headers
    return varying(headers, *CREDENTIALS)
