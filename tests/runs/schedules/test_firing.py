"""Ticks become runs: once each, in their owner's name, whatever comes in between."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Role, Team
from runs.access import start as starting
from runs.access.schedules import firing, manage
from runs.lifecycle.schedules import due
from runs.lifecycle.schedules.due import Due
from runs.models import Run, Schedule
from runs.worker import scheduler
from runs.worker.scheduler import Scheduler
from tests.cast import Cast, Register
from tests.runs.schedules.test_schedules import NEW
from tests.together import frozen, together

pytestmark = pytest.mark.django_db(transaction=True)
TICK = datetime(2026, 11, 20, 10, tzinfo=UTC)


def scheduled(cast: Cast, next_at: datetime = TICK, **values: Any) -> Schedule:
    """A schedule of Alice whose next tick is at ``next_at``."""
    row = manage.create(cast.alice.principal, {**NEW, "cron": "0 * * * *", **values})
    Schedule.objects.filter(pk=row.pk).update(next_at=next_at)
    row.refresh_from_db()
    return row


def fire(row: Schedule, now: datetime) -> bool:
    return firing.fire(Due(row.pk, row.team_id, now))


def fire_all(row: Schedule, now: datetime) -> Schedule:
    while fire(row, now):
        row.refresh_from_db()
    return row


def inputs(cast: Cast) -> list[dict[str, Any]]:
    rows = Run.objects.for_team(cast.team).order_by("pk")
    return [json.loads(text) for text in rows.values_list("input", flat=True)]


def test_a_tick_starts_a_run_of_its_owner(cast: Cast) -> None:
    words = "{{scheduled_at}} {{scheduled_date}} {{schedule_id}} {{other}}"
    row = scheduled(cast, input={"messages": [{"role": "user", "content": words}]})
    assert not fire(row, TICK - timedelta(seconds=1)), "not due yet"
    assert fire(row, TICK)
    assert not fire(row, TICK), "fired already"
    row.refresh_from_db()
    run = Run.objects.get()
    assert (run.started_by, run.starter) == ("user:alice", f"user:{cast.alice.user.pk}")
    assert run.stamp is not None
    content = json.loads(run.input)["messages"][0]["content"]
    assert content == f"2026-11-20T11:00:00+01:00 2026-11-20 {row.pk} {{{{other}}}}"
    assert (row.last_tick, row.last_run, row.last_code) == (TICK, run.pk, "")
    assert row.next_at == TICK + timedelta(hours=1)
    line = AuditEntry.objects.for_team(cast.team).get(action="schedule.fired")
    assert json.loads(line.details) == {"run": str(run.pk)}


def test_two_sweeps_at_once_fire_a_tick_once(cast: Cast) -> None:
    row = scheduled(cast)
    for hour in range(4):
        tick = TICK + timedelta(hours=hour)
        outcomes = together(*[partial(fire, row, tick + timedelta(seconds=1))] * 4)
        assert sorted(outcomes) == [False, False, False, True]
        assert Run.objects.count() == hour + 1


def test_the_database_refuses_to_go_back_to_a_tick(cast: Cast) -> None:
    row = scheduled(cast)
    fire(row, TICK)
    with pytest.raises(IntegrityError), transaction.atomic():
        Schedule.objects.filter(pk=row.pk).update(next_at=TICK)
    # Nor does a change go back, on a machine whose clock is behind.
    Schedule.objects.filter(pk=row.pk).update(
        last_tick=timezone.now() + timedelta(days=1), next_at=None, stopped="paused"
    )
    resumed = manage.change(cast.alice.principal, row.pk, {"paused": False})
    assert resumed.next_at
    assert resumed.next_at > timezone.now() + timedelta(days=1)


def test_a_kill_before_the_commit_leaves_the_tick_due(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = scheduled(cast)
    saved = []

    def killed(self: Schedule, **_: Any) -> None:
        saved.append(self)
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(Schedule, "save", killed)
        with pytest.raises(OperationalError):
            fire(row, TICK)
    assert saved
    assert not Run.objects.exists()
    assert fire(row, TICK)
    assert Run.objects.count() == 1


def test_runs_go_to_a_thread_each_or_to_one(cast: Cast) -> None:
    later = TICK + timedelta(hours=2)
    fire_all(scheduled(cast, missed="all"), later)
    fixed = fire_all(scheduled(cast, missed="all", thread="fixed", on_busy="enqueue"), later)
    threads = [body["threadId"] for body in inputs(cast)]
    assert len(threads) == 6
    assert len(set(threads[:3])) == 3
    assert threads[3:] == [fixed.thread_id] * 3


def test_a_refused_start_is_recorded_and_blocks_nobody(cast: Cast, settings: Settings) -> None:
    busy = scheduled(cast, thread="fixed", thread_id="t")
    assert fire(busy, TICK)
    assert fire(busy, TICK + timedelta(hours=1))
    busy.refresh_from_db()
    assert (busy.last_code, busy.last_run) == ("thread_busy", None)
    assert busy.next_at == TICK + timedelta(hours=2)
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 1
    limited = scheduled(cast)
    assert fire(limited, TICK)
    limited.refresh_from_db()
    assert limited.last_code == "limit_reached"
    settings.AGUI_LIMIT_RUNS_PER_MINUTE = 0
    assert fire(scheduled(cast), TICK)
    assert Run.objects.count() == 2


def test_a_schedule_whose_start_fails_is_not_tried_for_ever(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = scheduled(cast)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(starting, "start_run", broken)
    assert fire(row, TICK)
    row.refresh_from_db()
    assert (row.last_tick, row.last_code) == (TICK, "error")
    assert "secret" not in row.last_message


def test_the_owner_must_have_access_at_the_tick(cast: Cast) -> None:
    row = scheduled(cast)
    Membership.objects.filter(user=cast.alice.user).update(role=Role.VIEWER)
    assert fire(row, TICK)
    row.refresh_from_db()
    assert (row.last_code, row.stopped) == ("forbidden", ""), "she may become a member again"
    cast.alice.user.is_active = False
    cast.alice.user.save()
    assert fire(row, TICK + timedelta(hours=1))
    row.refresh_from_db()
    assert (row.stopped, row.next_at) == ("no_access", None)
    assert not Run.objects.exists()


def test_a_rotated_key_goes_on_as_its_successor(cast: Cast) -> None:
    old = ApiKey.objects.get(prefix=cast.alice.key_prefix)
    row = scheduled(cast)
    Schedule.objects.filter(pk=row.pk).update(owner=f"key:{old.pk}", runs_as="key:old")
    new, _ = keys.rotate(old, overlap=timedelta(0))
    assert fire(row, TICK)
    row.refresh_from_db()
    assert (row.owner, row.runs_as) == (f"key:{new.pk}", f"key:{new.prefix}")
    assert Run.objects.get().starter == row.owner
    keys.revoke(new)
    row.refresh_from_db()
    assert row.stopped == "key_revoked"


def test_a_single_run_finishes_its_schedule(cast: Cast) -> None:
    at = timezone.now() + timedelta(hours=1)
    row = manage.create(cast.alice.principal, {"run_at": at, "input": {}})
    assert fire(row, at)
    row.refresh_from_db()
    assert (row.stopped, row.next_at, row.last_tick) == ("finished", None, at)
    again = manage.change(cast.alice.principal, row.pk, {"run_at": at + timedelta(hours=1)})
    assert again.next_at == at + timedelta(hours=1)


def test_a_schedule_without_a_next_tick_is_over(cast: Cast) -> None:
    row = scheduled(cast)
    Schedule.objects.filter(pk=row.pk).update(time_zone="Abolished/Zone")
    assert fire(row, TICK)
    assert not fire(row, TICK)
    row.refresh_from_db()
    assert (row.stopped, row.next_at, row.last_code) == ("finished", None, "invalid")


def test_whose_turn_it_is(cast: Cast) -> None:
    """One of each team, the longest due first; nothing of archived teams."""
    first, second = scheduled(cast), scheduled(cast, TICK - timedelta(hours=1))
    other = manage.create(cast.charlie.principal, {**NEW})
    assert [each.schedule for each in due.due([], 10)] == [second.pk]
    Schedule.objects.filter(pk=other.pk).update(next_at=TICK - timedelta(hours=2))
    assert [each.schedule for each in due.due([], 10)] == [other.pk, second.pk]
    assert [each.schedule for each in due.due([cast.team.pk], 10)] == [other.pk]
    assert due.outlook() == (True, None)
    Schedule.objects.filter(pk=first.pk).update(next_at=timezone.now() + timedelta(minutes=1))
    has_come, seconds = due.outlook()
    assert has_come
    assert 0 < (seconds or 0) <= 60
    Team.objects.filter(pk=cast.team.pk).update(archived_at=timezone.now())
    assert [each.schedule for each in due.due([], 10)] == [other.pk]
    Schedule.objects.exclude(pk=first.pk).delete()
    assert not due.outlook().has_come


async def _until(rows: list[UUID]) -> None:
    while await db(Schedule.objects.filter(pk__in=rows, last_tick=None).exists):
        await asyncio.sleep(0.02)


async def test_two_schedulers_fire_in_time(cast: Cast, register: Register, bell: None) -> None:
    """Two loops, as of a worker and a web process: each tick has one run, within two seconds."""
    create = partial(manage.create, cast.alice.principal)
    later = timezone.now() + timedelta(hours=1)  # A busy machine can take seconds to make five.
    rows = [(await db(create, {"run_at": later, "input": {}})).pk for _ in range(5)]
    at = timezone.now() + timedelta(seconds=1)
    await db(Schedule.objects.filter(pk__in=rows).update, run_at=at, next_at=at)
    loops = [asyncio.create_task(Scheduler().run()) for _ in range(2)]
    await asyncio.wait_for(_until(rows), 30)
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)
    runs = await db(lambda: list(Run.objects.for_team(cast.team)))
    assert len(runs) == 5
    assert min(run.created_at for run in runs) >= at
    ends = await db(lambda: list(Schedule.objects.values_list("stopped", flat=True)))
    assert ends == ["finished"] * 5


async def test_a_frozen_transaction_of_one_team_delays_no_other(
    cast: Cast, bell: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "LOST", 0.01)
    stuck = await db(scheduled, cast)
    other = await db(manage.create, cast.charlie.principal, {**NEW})
    await db(Schedule.objects.filter(pk=other.pk).update, next_at=TICK)
    with frozen(Schedule.objects.filter(pk=stuck.pk)):
        loop = asyncio.create_task(Scheduler().run())
        await asyncio.wait_for(_until([other.pk]), 30)
        assert not await db(Run.objects.for_team(cast.team).exists)
    await asyncio.wait_for(_until([stuck.pk]), 30)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)


async def test_teams_with_old_ticks_hold_up_no_other(cast: Cast, bell: None) -> None:
    """Hundreds of old ticks, of as many teams as fire at once, and a newer one of another team."""
    row = await db(scheduled, cast, timezone.now() - timedelta(seconds=1))
    fields = {"agent": row.agent, "cron": row.cron, "owner": "user:0", "next_at": TICK}
    loud = [Team(name=f"Loud {number}", slug=f"loud-{number}") for number in range(4)]
    await db(Team.objects.bulk_create, loud)
    old = [Schedule(team=team, **fields) for team in loud for _ in range(100)]
    await db(Schedule.objects.bulk_create, old)
    loop = asyncio.create_task(Scheduler().run())
    await asyncio.wait_for(_until([row.pk]), 30)
    waiting = await db(Schedule.objects.filter(team__in=loud, next_at=TICK).count)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)
    assert waiting > 300
