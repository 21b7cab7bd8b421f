"""Headers: bounded before they are joined, parsed or digested."""

from typing import Any

import pytest

from agui_host.web.middleware.headers import (
    MOST_BYTES,
    MOST_COOKIE_BYTES,
    MOST_COOKIES,
    MOST_HEADERS,
    is_bounded,
)
from agui_host.web.scope import headers_of
from tests.asgi import ask

COOKIE = b"cookie"


@pytest.mark.parametrize(
    ("headers", "bounded"),
    [
        ([(b"a", b"1")] * MOST_HEADERS, True),
        ([(b"a", b"1")] * (MOST_HEADERS + 1), False),
        ([(b"a", b"x" * (MOST_BYTES - 1))], True),
        ([(b"a", b"x" * MOST_BYTES)], False),
        ([(COOKIE, b"x" * MOST_COOKIE_BYTES)], True),
        ([(b"Cookie", b"x" * MOST_COOKIE_BYTES), (COOKIE, b"x")], False),
        ([(COOKIE, b";" * (MOST_COOKIES - 1))], True),
        ([(COOKIE, b";" * MOST_COOKIES)], False),
        ([(COOKIE, b"a=1")] * 99, True),
    ],
)
def test_the_bounds(headers: list[tuple[bytes, bytes]], bounded: bool) -> None:
    assert is_bounded(headers) is bounded


@pytest.mark.parametrize("path", ["/health", "/", "/api/v1/runs", "/nowhere"])
async def test_a_request_above_them_is_answered_431_at_once(path: str) -> None:
    answer = await ask("GET", path, {"cookie": ";" * 10_000})
    assert (answer.status, answer.code) == (431, "headers_too_large")
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"]


def test_each_header_is_read_once_and_joined_once() -> None:
    """Repeated lines of one header are joined at the end, not copied again for each line."""

    class Lines(list[tuple[bytes, bytes]]):
        read = 0

        def __iter__(self) -> Any:
            Lines.read += 1
            return super().__iter__()

    lines = Lines([(b"X", b"1"), (b"cookie", b"a=1"), (b"x", b"2"), (b"Cookie", b"b=2")])
    scope = {"type": "http", "headers": lines}
    first = headers_of(scope)
    assert first == {"x": "1, 2", "cookie": "a=1; b=2"}
    assert headers_of({**scope}) is first
    assert Lines.read == 1
