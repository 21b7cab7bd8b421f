"""A claim that meets a database error is made again, once; agents cannot empty the host's pool."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from events.models import Event, Journal
from events.writer import JournalWriter
from runs.lifecycle import history, lifecycle
from runs.models import Status
from runs.worker import executor
from runs.worker.executor import Stop, execute_claim
from tests.cast import Cast, Register, fresh, perform, start, types_of

pytestmark = pytest.mark.django_db(transaction=True)


def breaks(verb: Callable[..., Any], times: int, *, after: bool) -> tuple[Any, list[int]]:
    """``verb``, whose connection is lost before it, or after it was committed."""
    fired: list[int] = []

    def broken(*args: Any, **options: Any) -> Any:
        result = verb(*args, **options) if after or len(fired) >= times else None
        if len(fired) < times:
            fired.append(1)
            raise OperationalError("the connection is lost")
        return result

    return broken, fired


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("begins", [False, True])
async def test_a_claim_outlives_database_errors(
    cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch, after: bool, begins: bool
) -> None:
    """Also one that was committed although its answer was lost."""
    monkeypatch.setattr(executor, "CLAIM_PAUSE", 0.01)
    run = await db(start, cast.alice)
    claim, fired = breaks(lifecycle.claim, 3, after=after)
    claiming = partial(db, claim, run.pk, timezone.now(), begins=begins)
    await execute_claim(claiming, writer, lambda: Stop.CANCEL, retry_seconds=20)
    assert len(fired) == 3
    assert (await db(fresh, run)).status == Status.SUCCEEDED
    types = await db(types_of, run)
    assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1


def test_a_claim_begins_the_log_in_its_own_transaction(cast: Cast) -> None:
    """In a fresh thread and in one with a history; once, however often it is tried."""
    for number in range(2):
        run, now = start(cast.alice, threadId="t", state={"n": number}), timezone.now()
        first, again = (lifecycle.claim(run.pk, now, begins=True) for _ in range(2))
        assert first is not None
        assert again is not None
        assert types_of(run) == ["RUN_STARTED", "STATE_SNAPSHOT"]
        assert first.claim == again.claim
        assert first.claim.head == 2
        assert again.intake is not None
        assert first.opening is not None
        assert again.opening is None, "who asks again does not know the stored bytes"
        payloads = [record.payload for record in first.opening.records]
        rows = Event.objects.filter(journal_id=run.pk).order_by("seq")
        assert [row.payload.encode() for row in rows] == payloads
        stored = Journal.objects.get(pk=run.pk)
        assert (stored.head, stored.bytes) == (2, sum(map(len, payloads)))
        assert lifecycle.end_lost(fresh(run))


def test_a_claim_that_comes_too_late_leaves_the_log_alone(cast: Cast) -> None:
    run = start(cast.alice)
    lifecycle.cancel(run)
    assert lifecycle.claim(run.pk, timezone.now(), begins=True) is None
    assert types_of(run) == ["RUN_STARTED", "RUN_FINISHED"]


async def test_a_claim_is_given_up_in_the_end(cast: Cast, writer: JournalWriter) -> None:
    run = await db(start, cast.alice)
    claim, fired = breaks(lifecycle.claim, 100, after=False)
    claiming = partial(db, claim, run.pk, timezone.now())
    with pytest.raises(OperationalError):
        await execute_claim(claiming, writer, lambda: Stop.CANCEL)
    assert len(fired) == 1


def test_only_the_one_who_claimed_a_run_claims_it_again(cast: Cast) -> None:
    run, now = start(cast.alice), timezone.now()
    first = lifecycle.claim(run.pk, now)
    again = lifecycle.claim(run.pk, now)
    assert first is not None
    assert again is not None
    assert again.claim == first.claim
    assert lifecycle.claim(run.pk, now + timedelta(microseconds=1)) is None
    assert lifecycle.claim(run.pk) is None


async def test_a_claim_that_is_still_under_way_is_known_behind_its_lock(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt is committed while the second one waits for its row."""
    await db(lambda: lifecycle.cancel(start(cast.alice, threadId="t")))
    run, now = await db(partial(start, cast.alice, threadId="t")), timezone.now()
    real = history.prepare
    reached, go_on = threading.Event(), threading.Event()

    def slowly(*args: Any, **options: Any) -> Any:
        if not reached.is_set():
            reached.set()
            assert go_on.wait(20)
        return real(*args, **options)

    monkeypatch.setattr(history, "prepare", slowly)
    first = asyncio.create_task(db(lifecycle.claim, run.pk, now))
    while not reached.is_set():
        await asyncio.sleep(0)
    second = asyncio.create_task(db(lifecycle.claim, run.pk, now))
    while not await db(waits_for_a_lock):
        assert not first.done(), first
        if second.done():  # it waits for some seconds, which a busy machine may miss
            second = asyncio.create_task(db(lifecycle.claim, run.pk, now))
        await asyncio.sleep(0.005)
    go_on.set()
    claims = [await asyncio.wait_for(task, 20) for task in (first, second)]
    assert claims[0] is not None
    assert claims[1] is not None
    assert claims[0].claim == claims[1].claim


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "select exists (select from pg_stat_activity where wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])


async def test_agents_that_hold_every_connection_stop_no_run(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """Sync agents keep what they took; runs of others are claimed and stored meanwhile."""
    pool = connections["default"].pool  # type: ignore[attr-defined]
    done = threading.Event()

    def greedy(ctx: Any) -> str:
        connection.ensure_connection()
        assert done.wait(60)
        return "held it"

    agent = await db(register, "greedy", greedy)
    greedy_runs = [await db(start, cast.alice, agent) for _ in range(pool.max_size)]
    tasks = [asyncio.create_task(perform(run, writer)) for run in greedy_runs]
    try:
        async with asyncio.timeout(20):
            while pool.get_stats()["pool_available"] or not pool.get_stats()["requests_waiting"]:
                assert not any(task.done() for task in tasks)
                await asyncio.sleep(0.005)
        ended = await asyncio.wait_for(perform(await db(start, cast.charlie), writer), 8)
        assert ended.status == Status.SUCCEEDED
        assert pool.get_stats()["requests_waiting"], "agents wait for each other, nobody for them"
    finally:
        done.set()
    assert {(await task).status for task in tasks} == {Status.SUCCEEDED}
