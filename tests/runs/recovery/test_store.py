"""The effects of many runs share commits, and none of them waits for another's failure."""

import asyncio
import threading
import time
from typing import Any

import pytest
from django.db import DataError, connection, transaction

from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db
from events.models import Journal
from events.writer.lease import Statement
from runs.lifecycle.recovery import effects
from runs.lifecycle.recovery.effects import Attempt, Begun, Lost
from runs.models import Effect, Run
from runs.worker.continuing.store import Commits, RunEffects
from tests.cast import Cast, start
from tests.runs.playing import Play, play

__all__ = ["play"]
pytestmark = pytest.mark.django_db(transaction=True)
WAITS = "select exists (select from pg_stat_activity where wait_event_type = 'Lock')"


def query(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


TRANSACTION = Statement("select pg_current_xact_id()::text", {})


async def added(commits: Commits, run: Run, *statements: Statement) -> list[Any]:
    """What the statements of one team return that come at the same moment."""
    places = ((run.pk, f"k{number:02}") for number in range(len(statements)))
    adding = (commits.add(*each) for each in zip(places, statements, strict=True))
    return await asyncio.gather(*adding, return_exceptions=True)


async def transactions(commits: Commits, run: Run, *statements: Statement) -> list[str]:
    return [number for ((number,),) in await added(commits, run, *statements)]


async def test_statements_that_wait_share_a_commit(cast: Cast) -> None:
    run, commits = await db(start, cast.alice), Commits()
    ids = await transactions(commits, run, *[TRANSACTION] * 20)
    assert len(set(ids)) <= 2, "the first alone, the others together"
    with scope.limited(cast.charlie.team.pk):
        others = await transactions(commits, run, TRANSACTION)
    assert not set(others) & set(ids)


async def test_a_commit_has_room_for_a_megabyte_of_values(cast: Cast) -> None:
    run, commits = await db(start, cast.alice), Commits()
    statement = "select pg_current_xact_id()::text where %(value)s <> ''"
    large = Statement(statement, {"value": "v" * 600_000})
    _, *ids = await transactions(commits, run, TRANSACTION, *[large] * 6)
    assert [ids.count(each) for each in dict.fromkeys(ids)] == [2, 2, 2]


async def test_a_failure_is_that_of_its_effect_alone(cast: Cast) -> None:
    run, commits = await db(start, cast.alice), Commits()
    zero, one, two = (Statement("select %(number)s", {"number": each}) for each in range(3))
    broken = Statement("select 1 / 0", {})
    # The first one has a commit of its own.
    outcomes = await added(commits, run, zero, one, broken, two)
    assert outcomes[:2] == [[(0,)], [(1,)]]
    assert isinstance(outcomes[2], DataError)
    assert outcomes[3] == [(2,)]


async def test_all_are_stored_before_their_agents_continue(play: Play) -> None:
    keys: list[set[str]] = []

    def stored() -> set[str]:
        return set(Effect.objects.filter(status="done").values_list("key", flat=True))

    async def agent(ctx: Any) -> None:
        async def one(number: int) -> None:
            await ctx.once(f"k{number}", lambda: number)
            assert f"k{number}" in await db(stored)

        await asyncio.gather(*map(one, range(30)))
        keys.append(await db(stored))

    run, _ = await play(agent)
    assert run.status == "succeeded"
    assert keys == [{f"k{number}" for number in range(30)}]


def test_a_takeover_locks_effects_in_the_order_of_a_commit(cast: Cast) -> None:
    """Else a worker that stores two of a run's effects and the reaper wait for each other."""
    run = start(cast.alice)
    for key in ("b", "a"):  # in the order in which a scan finds them
        Effect.objects.create(
            run=run, team=run.team, key=key, digest="d", status="started", generation=1,
            attempt=1, version="", seq=0, bytes=0,
        )  # fmt: skip

    def lock(key: str) -> None:
        Effect.objects.select_for_update().get(run=run, key=key)

    def take_over() -> None:
        try:
            with transaction.atomic():
                effects.mark_unverified(run)
        finally:
            connection.close()

    taking = threading.Thread(target=take_over)
    with transaction.atomic():
        lock("a")
        taking.start()
        deadline = time.monotonic() + 20
        while not query(WAITS):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        lock("b")
    taking.join(20)
    statuses = Effect.objects.filter(run=run).values_list("status", flat=True)
    assert list(statuses) == ["unverified"] * 2


async def test_an_attempt_is_fenced_within_a_shared_commit(cast: Cast) -> None:
    run = await db(start, cast.alice)
    await db(Journal.objects.filter(pk=run.pk).update, writer=7)
    first, lost, ours = (
        RunEffects(Attempt(run.pk, run.team_id, generation), inherits=False)
        for generation in (7, 6, 7)
    )
    begun = await asyncio.gather(
        *(first.begin("a", "d", False), lost.begin("b", "d", True), ours.begin("c", "d", False)),
        return_exceptions=True,
    )
    assert begun[0] == begun[2] == Begun("new", "d", None)
    assert isinstance(begun[1], Lost)
    ended = await asyncio.gather(
        *(first.end("a", "1", False), lost.end("c", "2", False), ours.end("c", "3", False)),
        return_exceptions=True,
    )
    assert ended[0] is ended[2] is None
    assert isinstance(ended[1], Lost)
    stored = Effect.objects.filter(run=run).order_by("key").values_list("key", "value")
    assert await db(lambda: list(stored)) == [("a", "1"), ("c", "3")]
