"""Many requests for one thread: each gets its turn, none fails, and others do not wait for them."""

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction
from pytest_django import Settings

from agui_host.backends.postgres import turns
from agui_host.backends.postgres.bridge import db
from runs.lifecycle import thread_lock
from runs.models import Run, Status, Thread
from tests.asgi import Answer, Exchange, ask
from tests.cast import Cast, start
from tests.runs.starting import JSON
from tests.together import frozen

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 30


@pytest.fixture(autouse=True)
def _no_rate(settings: Settings) -> None:
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 0
    settings.AGUI_LIMIT_OPEN_STREAMS = 0
    # The line is judged here, not the gate in front of it.
    settings.AGUI_REQUEST_SLOTS = settings.AGUI_START_SLOTS = 4 * MANY


def body(thread: str, **more: Any) -> dict[str, Any]:
    return {"threadId": thread, "messages": [], **more}


async def start_one(cast: Cast, thread: str) -> Answer:
    headers = {**JSON, **cast.alice.headers}
    posted = {"input": body(thread), "on_busy": "cancel_running"}
    return await ask("POST", "/api/v1/runs", headers, json=posted)


async def stream_one(cast: Cast, thread: str) -> Answer:
    """A stream is answered before its run ends; a cancelled run's stream ends by itself."""
    headers = {**JSON, **cast.alice.headers}
    url = "/agui?on_busy=cancel_running"
    async with Exchange("POST", url, headers, json=body(thread)) as exchange:
        return Answer(exchange.status, exchange.headers, await exchange.chunk() or b"")


@pytest.mark.parametrize("one", [start_one, stream_one])
async def test_many_at_once_are_all_answered_and_others_meanwhile(
    cast: Cast, bell: None, one: Any
) -> None:
    """The thread is held by a process that has stopped; more requests wait than there are
    connections and threads."""
    assert settings.AGUI_DB_THREADS + connections["default"].pool.max_size < MANY  # type: ignore[attr-defined]
    await db(lambda: start(cast.alice, threadId="busy"))
    with frozen(Thread.objects.filter(thread_id="busy")) as let_go:
        waiting = [asyncio.create_task(one(cast, "busy")) for _ in range(MANY)]
        async with asyncio.timeout(60):
            while turns.length() < MANY:
                assert not any(task.done() for task in waiting)
                await asyncio.sleep(0.01)
        other = await asyncio.wait_for(start_one(cast, "free"), 5)
        assert other.status == 202
        assert not any(task.done() for task in waiting)
        let_go.set()
        answers = await asyncio.wait_for(asyncio.gather(*waiting), 60)
    assert {answer.status for answer in answers} <= {200, 202}, answers[0].body
    runs = Run.objects.filter(thread__thread_id="busy")
    assert await db(runs.filter(status=Status.QUEUED).count) == 1, "the last one stands"
    assert await db(runs.filter(status=Status.CANCELLED).count) == MANY
    assert turns.length() == 0


async def test_turns_come_in_order(cast: Cast) -> None:
    """Whoever comes later does not overtake those in the line, even when the lock is free."""
    await db(lambda: start(cast.alice, threadId="t"))
    order: list[str] = []

    def one(name: str) -> None:
        with transaction.atomic():
            thread_lock.made(cast.team, "t")
            order.append(name)

    with frozen(Thread.objects.filter(thread_id="t")) as let_go:
        tasks = []
        for number in range(10):
            tasks.append(asyncio.create_task(db(one, str(number))))
            while turns.length() <= number:
                await asyncio.sleep(0)
        late = asyncio.create_task(db(one, "late"))
        let_go.set()
        await asyncio.wait_for(asyncio.gather(*tasks, late), 10)
    assert order == [*map(str, range(10)), "late"]
    assert turns.length() == 0


async def test_a_line_has_an_end(cast: Cast, bell: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever would wait too long is told so, and leaves no place in the line behind."""
    monkeypatch.setattr(turns, "LONGEST_LINE", 3)
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0.3)
    await db(lambda: start(cast.alice, threadId="busy"))
    with frozen(Thread.objects.filter(thread_id="busy")):
        answers = await asyncio.gather(*(start_one(cast, "busy") for _ in range(6)))
        assert {(answer.status, answer.code) for answer in answers} == {(503, "unavailable")}
        assert all(answer.headers["retry-after"] for answer in answers)
    assert turns.length() == 0
    assert (await start_one(cast, "busy")).status == 202
