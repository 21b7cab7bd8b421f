"""Static files from memory, once Django has answered them.

A page of the dashboard asks for forty; each would take one of the gate's slots, a thread, and
Django's middleware, while the same page waits for its outline. Under ``DEBUG``, files can change.
"""

from collections.abc import MutableMapping
from typing import Any, NamedTuple

from django.conf import settings

from agui_host.web.middleware.compression import accepts_gzip
from agui_host.web.scope import App, RawHeaders, Receive, Scope, Send, headers_of, scheme_of

KEPT = 32_000_000
"""Bytes in memory: all that this host has are 10 MB, and 2 MB compressed."""
NOT_MODIFIED = frozenset({b"cache-control", b"date", b"etag", b"expires", b"vary"})
"""Headers of an answer 304."""
Key = tuple[str, bool, str]


class File(NamedTuple):
    """A file as Django sent it, with the tag of exactly these bytes."""

    headers: RawHeaders
    tag: str
    body: bytes


class StaticFiles:
    """ASGI middleware: remembers answers of 200 with a tag below ``STATIC_URL``."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._files: dict[Key, File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _may_keep(scope):
            return await self.app(scope, receive, send)
        headers = headers_of(scope)
        # Where the host speaks https, Django redirects http requests.
        key = (scope["path"], accepts_gzip(headers.get("accept-encoding", "")), scheme_of(scope))
        file = self._files.get(key)
        if file is None:
            answer = Answer(send)
            await self.app(scope, receive, answer.send)
            return self._keep(key, answer.file())
        if headers.get("if-none-match") == file.tag:
            fewer = [(name, value) for name, value in file.headers if name in NOT_MODIFIED]
            await send({"type": "http.response.start", "status": 304, "headers": fewer})
            return await send({"type": "http.response.body", "body": b""})
        await send({"type": "http.response.start", "status": 200, "headers": file.headers})
        await send({"type": "http.response.body", "body": file.body})

    def _keep(self, key: Key, file: File | None) -> None:
        if file and sum(len(each.body) for each in self._files.values()) + len(file.body) <= KEPT:
            self._files[key] = file


class Answer:
    """One answer on its way out, of which a copy is taken."""

    def __init__(self, onward: Send) -> None:
        self.onward = onward
        self.start: MutableMapping[str, Any] = {}
        self.parts: list[bytes] = []

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.parts.append(message.get("body", b""))
        await self.onward(message)

    def file(self) -> File | None:
        """The file, if the answer is one."""
        headers = [(name.lower(), value) for name, value in self.start.get("headers", ())]
        tag = dict(headers).get(b"etag", b"").decode("latin-1")
        if self.start.get("status") != 200 or not tag:
            return None
        return File(headers, tag, b"".join(self.parts))


def _may_keep(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or settings.DEBUG:
        return False
    return scope["path"].startswith(settings.STATIC_URL) and "range" not in headers_of(scope)
