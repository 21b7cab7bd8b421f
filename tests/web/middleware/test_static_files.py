"""Static files: Django answers each once, and then they come from memory."""

import gzip
from typing import Any

import pytest

from agui_host.web.gated import Whole
from agui_host.web.middleware import static_files
from agui_host.web.middleware.answer_cache import AnswerCache
from agui_host.web.middleware.compression import Compressed
from agui_host.web.middleware.static_files import StaticFiles
from agui_host.web.scope import headers_of
from tests.asgi import ask as application_ask

FILE = [(b"Content-Type", b"text/css"), (b"ETag", b'"1"'), (b"Cache-Control", b"max-age=60")]


class Site:
    """An app that counts its requests, behind ``StaticFiles``."""

    def __init__(self, *, status: int = 200, headers: Any = FILE) -> None:
        self.status, self.headers, self.requests = status, headers, 0
        self.files = StaticFiles(self.app)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"b"})

    async def get(
        self, path: str = "/static/a.css", method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": raw, "scheme": "http"}
        await self.files(scope, None, send)  # type: ignore[arg-type]
        start, *bodies = messages
        named = [(name.lower(), value) for name, value in start["headers"]]
        body = b"".join(message["body"] for message in bodies)
        return start["status"], headers_of({"headers": named}), body


async def test_the_second_request_asks_nobody() -> None:
    site = Site()
    first = await site.get()
    assert first == (
        200, {"content-type": "text/css", "etag": '"1"', "cache-control": "max-age=60"}, b"ab",
    )  # fmt: skip
    assert await site.get() == first
    assert site.requests == 1


async def test_what_the_browser_has_is_not_sent_again() -> None:
    site = Site()
    await site.get()
    status, headers, body = await site.get(if_none_match='"1"')
    assert (status, headers, body) == (304, {"etag": '"1"', "cache-control": "max-age=60"}, b"")
    assert (await site.get(if_none_match='"0"'))[0] == 200
    assert site.requests == 1


async def test_clients_with_and_without_gzip_get_their_own() -> None:
    site = Site()
    for accepts in ("gzip", "br", "gzip", "br"):
        await site.get(accept_encoding=accepts)
    assert site.requests == 2


@pytest.mark.parametrize(
    ("site", "request_"),
    [
        (Site(), {"path": "/runs/"}),
        (Site(), {"method": "HEAD"}),
        (Site(), {"range": "bytes=0-1"}),
        (Site(status=404), {}),
        (Site(status=301), {}),
        (Site(headers=[]), {}),
    ],
)
async def test_what_django_answers_each_time(site: Site, request_: dict[str, str]) -> None:
    await site.get(**request_)
    await site.get(**request_)
    assert site.requests == 2


@pytest.mark.parametrize("cache", [StaticFiles, AnswerCache])
@pytest.mark.parametrize("sent", range(4))
async def test_a_client_that_leaves_does_not_cut_the_file_for_all(sent: int, cache: Any) -> None:
    """Django sends what it has until the client leaves, and returns as if that were all."""
    messages: list[Any] = [
        {"type": "http.response.start", "status": 200, "headers": FILE},
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b", "more_body": True},
        {"type": "http.response.body"},
    ]
    cuts = [sent, len(messages)]

    async def django(scope: Any, receive: Any, send: Any) -> None:
        for message in messages[: cuts.pop(0)]:
            await send(message)

    app = cache(Compressed(Whole(django)))
    scope = {"type": "http", "method": "GET", "path": "/static/a.js", "query_string": b""}
    got: list[list[Any]] = []
    for _ in range(2):
        got.append([])

        async def send(message: Any, to: list[Any] = got[-1]) -> None:
            to.append(message)

        await app({**scope, "headers": [], "scheme": "http"}, None, send)
    assert [b"".join(each.get("body", b"") for each in one) for one in got] == [b"", b"ab"]
    assert got[0] == [], "nothing at all rather than a part"
    assert not cuts


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_files, "KEPT", 3)
    site = Site()
    for path in ("/static/1", "/static/2", "/static/1", "/static/2"):
        await site.get(path)
    assert site.requests == 3


async def test_files_that_may_change_are_read_again(settings: Any) -> None:
    settings.DEBUG = True
    site = Site()
    await site.get()
    await site.get()
    assert site.requests == 2


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")  # as the application does
async def test_the_application_compresses_them_once() -> None:
    bodies = set()
    for _ in range(2):
        answer = await application_ask("GET", "/static/css/host.css", {"accept-encoding": "gzip"})
        assert b":root" in gzip.decompress(answer.body)
        assert answer.headers["x-content-type-options"] == "nosniff"
        bodies.add(answer.body)
    assert len(bodies) == 1  # else its random padding would differ
    known = {"accept-encoding": "gzip", "if-none-match": answer.headers["etag"]}
    assert (await application_ask("GET", "/static/css/host.css", known)).status == 304
