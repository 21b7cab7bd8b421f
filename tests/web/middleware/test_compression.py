"""Compression: whole answers of some length by gzip, streams as they come, static files once."""

import gzip
from typing import Any

import pytest

from agui_host.web.middleware.compression import LEAST, Compressed, accepts_gzip
from agui_host.web.scope import headers_of
from tests.asgi import ask as application_ask

LONG = b'{"key": "a value"}' * 200
PLAIN = {"content_type": "application/json"}


async def ask(
    body: list[bytes],
    *,
    path: str = "/",
    method: str = "GET",
    accepts: str = "gzip",
    **more: str,
) -> tuple[dict[str, str], list[Any]]:
    """(headers, messages) of an answer with these headers, through ``Compressed``."""
    messages: list[Any] = []
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        for number, part in enumerate(body, 1):
            await send(
                {"type": "http.response.body", "body": part, "more_body": number < len(body)}
            )

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {
        "type": "http", "method": method, "path": path,
        "headers": [(b"accept-encoding", accepts.encode())],
    }  # fmt: skip
    await Compressed(app)(scope, None, send)  # type: ignore[arg-type]
    return headers_of({"headers": messages[0]["headers"]}), messages


def text(messages: list[Any]) -> bytes:
    return b"".join(message["body"] for message in messages[1:])


async def test_a_long_answer_is_compressed_and_says_so() -> None:
    halves = [LONG[:50], LONG[50:]]
    headers, messages = await ask(halves, content_length=str(len(LONG)), Vary="Cookie", **PLAIN)
    assert headers["content-encoding"] == "gzip"
    assert headers["vary"] == "Cookie, Accept-Encoding"
    assert headers["content-length"] == str(len(text(messages)))
    assert len(text(messages)) < len(LONG) / 3
    assert gzip.decompress(text(messages)) == LONG


async def test_the_same_without_gzip_says_that_it_depends() -> None:
    headers, messages = await ask([LONG], accepts="br", content_length=str(len(LONG)), **PLAIN)
    assert headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in headers
    assert text(messages) == LONG


@pytest.mark.parametrize(
    "more",
    [
        {"content_type": "image/png"},
        {"content_encoding": "br", **PLAIN},
        {"etag": '"the bytes"', **PLAIN},
    ],
)
async def test_what_is_not_compressed(more: dict[str, str]) -> None:
    headers, messages = await ask([LONG], content_length=str(len(LONG)), **more)
    assert "vary" not in headers
    assert text(messages) == LONG


async def test_short_answers_and_heads_are_left_alone() -> None:
    body = LONG[: LEAST - 1]
    assert text((await ask([body], content_length=str(len(body)), **PLAIN))[1]) == body
    headers, _ = await ask([b""], method="HEAD", content_length=str(len(LONG)), **PLAIN)
    assert headers["content-length"] == str(len(LONG))


async def test_each_frame_of_a_stream_is_sent_when_it_comes() -> None:
    for kind in ("text/event-stream", "application/x-ndjson", "application/json"):
        headers, messages = await ask([LONG, LONG, b""], content_type=kind)
        assert [message.get("body") for message in messages[1:]] == [LONG, LONG, b""]
        assert "content-encoding" not in headers


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True), ("br;q=1, GZIP;q=0.5", True), ("*", True), ("gzip;q=0", False),
        ("gzip; q=0.00", False), ("", False), ("br, x-gzip2", False), ("gzip;q=1", True),
        ("gzip;q=1.0", True), ("identity, gzip", True),
    ],
)  # fmt: skip
def test_who_accepts_gzip(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")  # as the application does
async def test_the_application_compresses_its_static_files() -> None:
    answer = await application_ask("GET", "/static/css/host.css", {"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert b":root" in gzip.decompress(answer.body)
