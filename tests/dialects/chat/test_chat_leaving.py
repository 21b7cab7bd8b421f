"""A client of Chat Completions that leaves stops its run, unless somebody else reads it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.openai import leaving
from events.hub import Hub, hub
from runs.models import Run
from tests.asgi import Exchange
from tests.cast import Cast, LiveRun, fresh

pytestmark = pytest.mark.django_db(transaction=True)

DEADLINE = 60
PROMISE = timedelta(seconds=5)
"""The longest time from the last reader's leaving to the request to stop."""


def chat(cast: Cast, headers: dict[str, str] | None = None, **more: Any) -> Exchange:
    body = {"model": "echo", "messages": [{"role": "user", "content": "x"}], **more}
    all_headers = {**cast.alice.headers, **(headers or {})}
    return Exchange("POST", "/v1/chat/completions", all_headers, json=body)


async def is_cancelled(run: Run) -> bool:
    return (await db(fresh, run)).cancel_requested_at is not None


async def is_cancelled_in_time(run: Run, left: datetime) -> bool:
    asked = (await db(fresh, run)).cancel_requested_at
    return asked is not None and asked - left <= PROMISE


def now() -> datetime:
    return datetime.now(UTC)


async def watched() -> None:
    """Wait for the end of all that watch a run."""
    async with asyncio.timeout(DEADLINE):
        while leaving._watching:
            await asyncio.wait(leaving._watching.values())


async def begun(writer: Any) -> LiveRun:
    async with asyncio.timeout(DEADLINE):
        while (run := await db(Run.objects.select_related("thread").first)) is None:
            await asyncio.sleep(0)
    return await LiveRun.begin(run, writer)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> "asyncio.Queue[bool]":
    """What each look for readers has looked."""
    looked: asyncio.Queue[bool] = asyncio.Queue()
    look = leaving.is_read

    async def noted(journal: Any) -> bool:
        is_read = await look(journal)
        looked.put_nowait(is_read)
        return is_read

    monkeypatch.setattr(leaving, "is_read", noted)
    return looked


@pytest.mark.apart
async def test_a_stream_that_is_left(cast: Cast, writer: Any) -> None:
    async with chat(cast, stream=True) as exchange:
        live = await begun(writer)
        await exchange.until(b"chatcmpl")
        left = now()
    await watched()
    assert await is_cancelled_in_time(live.run, left)
    await live.end()


@pytest.mark.apart
async def test_a_whole_answer_that_nobody_waits_for(cast: Cast, writer: Any) -> None:
    exchange = chat(cast)
    task = asyncio.create_task(exchange._run())
    live = await begun(writer)
    left = now()
    exchange._inbox.put_nowait({"type": "http.disconnect"})
    async with asyncio.timeout(DEADLINE):
        await task
    await watched()
    assert await is_cancelled_in_time(live.run, left)
    await live.end()


@pytest.mark.apart
async def test_while_somebody_else_reads_it_continues(
    cast: Cast, writer: Any, looks: "asyncio.Queue[bool]"
) -> None:
    async with chat(cast, stream=True) as exchange:
        live = await begun(writer)
        await exchange.until(b"chatcmpl")
        other = Exchange("GET", live.url, {**cast.bob.headers, "accept": "text/event-stream"})
        await other.__aenter__()
        await other.until(b"RUN_STARTED")
    assert [await looks.get(), await looks.get()] == [True, True]
    assert not await is_cancelled(live.run)
    left = now()
    await other.__aexit__()
    await watched()
    assert await is_cancelled_in_time(live.run, left)
    await live.end()


@pytest.mark.parametrize("more", [{"background": True}, {}])
async def test_a_run_that_ends_or_is_of_the_background_is_not_watched(
    cast: Cast, writer: Any, more: dict[str, Any]
) -> None:
    async with chat(cast, stream=True, **more) as exchange:
        live = await begun(writer)
        await exchange.until(b"chatcmpl")
        if not more:
            await live.end()
            await exchange.rest()
    assert not leaving._watching
    assert not await is_cancelled(live.run)
    if more:
        await live.end()


async def test_a_run_is_watched_once_however_many_leave(cast: Cast, writer: Any) -> None:
    """A client may send one request again and again, and leave each time."""
    key = {"idempotency-key": "k"}
    async with chat(cast, stream=True, headers=key) as exchange:
        live = await begun(writer)
        await exchange.until(b"chatcmpl")
        for _ in range(3):
            async with chat(cast, stream=True, headers=key) as another:
                await another.until(b"chatcmpl")
        assert list(leaving._watching) == [live.run.pk]
        assert not await is_cancelled(live.run)
    await watched()
    assert await is_cancelled(live.run)
    await live.end()


async def test_a_reader_in_another_process_counts(cast: Cast, writer: Any) -> None:
    async with chat(cast, stream=True, background=True):
        live = await begun(writer)
        assert await leaving.is_read(live.run.pk)
    elsewhere = Hub()
    reader = await elsewhere.join(live.run.pk, 0)
    assert not hub().has_readers(live.run.pk)
    assert await leaving.is_read(live.run.pk)
    elsewhere.leave(live.run.pk, reader)
    assert not await leaving.is_read(live.run.pk)
    await elsewhere.close()
    await live.end()
