"""A client may leave at any moment of its request; the next one gets what it would have got."""

import asyncio
import gc
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from agui_host.web.asgi import application
from tests.asgi import ask, http_scope

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
    # Django closes no answer of a client that has left: its file ends with the last reference.
    pytest.mark.filterwarnings("ignore:unclosed file"),
]
STATIC = Path(settings.STATICFILES_DIRS[0])
FILES = sorted(f"/static/{path.relative_to(STATIC)}" for path in STATIC.rglob("js/**/*.mjs"))


@pytest.fixture(autouse=True)
def _files_end_here() -> Iterator[None]:
    """Not in a later test, which would be blamed."""
    yield
    gc.collect()


async def leave(url: str, turns: int) -> bool:
    """Ask, and leave ``turns`` turns of the loop after the body was read; whether that cut it."""
    received = count()
    messages: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not next(received):
            return {"type": "http.request", "body": b"", "more_body": False}
        for _ in range(turns):
            # A turn with rest: Django works in a thread meanwhile.
            await asyncio.sleep(0.0002)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    async with asyncio.timeout(20):
        await application(http_scope("GET", url), receive, send)
    return not messages


async def test_each_static_file_is_whole_after_somebody_left() -> None:
    cut = [await leave(url, turns) for turns, url in enumerate(FILES)]
    assert any(cut), "somebody left early enough"
    assert not all(cut), "and somebody was answered"
    for url in FILES:
        answer = await ask("GET", url)
        assert answer.status == 200, url
        assert answer.body == (STATIC / url.removeprefix("/static/")).read_bytes(), url


@pytest.mark.parametrize("url", ["/api/schema/?format=json", "/login/", "/health"])
async def test_each_page_for_everybody_is_whole_after_somebody_left(url: str) -> None:
    for turns in (*range(10), 20, 40):
        await leave(url, turns)
        assert (await ask("GET", url)).status == 200
