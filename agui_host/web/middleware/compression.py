"""Compression: answers that are sent whole, and static files, by gzip; streams never.

``Compressed`` wraps every HTTP route, since streams and pages of events bypass Django's middleware,
where Django's own ``GZipMiddleware`` would be. It compresses an answer of a known length only:
an event stream has none, so that no frame waits in a compressor for the next one.
"""

import secrets
from collections.abc import MutableMapping
from gzip import GzipFile
from io import BytesIO
from typing import Any

from django.conf import settings

from agui_host.backends.threads import in_thread
from agui_host.web.scope import App, Receive, Scope, Send, headers_of, varying

LEAST, MOST = 1_000, 16_000_000
"""Bytes: a shorter answer fits a packet or two anyway; a longer one is passed on as it comes."""
OWN_THREAD = 20_000
"""Bytes: a longer answer takes more than half a millisecond, in which the loop serves others."""
PADDING = 100
"""Random bytes at most, so that the length reveals little about secrets in a page (BREACH)."""
LEVEL = 3
"""A page of an outline takes a quarter of the time of level 6, and 17 % more bytes."""
KINDS = ("text/html", "text/css", "text/plain", "text/javascript", "image/svg+xml")
JSON = ("/json", "+json", "/javascript")


class Compressed:
    """ASGI middleware: compresses answers that are worth it, for clients that accept gzip."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "HEAD":
            send = Answer(scope["path"], headers_of(scope).get("accept-encoding", ""), send).send
        await self.app(scope, receive, send)


class Answer:
    """One answer on its way out."""

    def __init__(self, path: str, accepted: str, send: Send) -> None:
        """``accepted``: the request's Accept-Encoding."""
        self.path, self.accepted, self.onward = path, accepted, send
        self.start: MutableMapping[str, Any] | None = None
        self.parts: list[bytes] = []

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Pass a message on, or hold it until the answer is complete."""
        if message["type"] == "http.response.start":
            # Django spells the names as its views do.
            named = [(name.lower(), value) for name, value in message["headers"]]
            message = {**message, "headers": named}
        if message["type"] == "http.response.start" and self._worth(message):
            message["headers"] = varying(message["headers"], "Accept-Encoding")
            if accepts_gzip(self.accepted):
                self.start = message
                return
        elif self.start is not None and message["type"] == "http.response.body":
            self.parts.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish(self.start, b"".join(self.parts))
            return
        await self.onward(message)

    def _worth(self, start: MutableMapping[str, Any]) -> bool:
        headers = dict(start["headers"])
        length = headers.get(b"content-length", b"")
        kind = headers.get(b"content-type", b"").decode("latin-1").split(";")[0].strip()
        return (
            start["status"] == 200
            and length.isdigit()
            and LEAST <= int(length) <= MOST
            and b"content-encoding" not in headers
            and (kind in KINDS or kind.endswith(JSON))
            # A tag names these very bytes, and can come back with the next request.
            and (b"etag" not in headers or self.path.startswith(settings.STATIC_URL))
        )

    async def _finish(self, start: MutableMapping[str, Any], body: bytes) -> None:
        headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        if len(body) > OWN_THREAD:
            smaller = await in_thread(compress, body)
        else:
            smaller = compress(body)
        if len(smaller) < len(body):
            body = smaller
            headers.append((b"content-encoding", b"gzip"))
        headers.append((b"content-length", str(len(body)).encode()))
        await self.onward({**start, "headers": headers})
        await self.onward({"type": "http.response.body", "body": body})


def compress(body: bytes) -> bytes:
    """The body by gzip, of a length that varies a little, as Django's middleware does."""
    out = BytesIO()
    name = secrets.token_hex(1 + secrets.randbelow(PADDING // 2))
    with GzipFile(name, "wb", LEVEL, out, mtime=0) as file:
        file.write(body)
    return out.getvalue()


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "").rstrip("0.") != "q="
    return False
