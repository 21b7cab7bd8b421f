"""The usage of a team equals a recount of its runs, in any order of ends, purges and erasures."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_host.errors import HostError
from agui_host.runtimes.models import Agent
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import erasure
from runs.lifecycle.usage import rollup, sums
from runs.models import (
    Grain,
    Run,
    TeamUsage,
    Thread,
    Usage,
    UsageChange,
    UsageError,
    UsageTook,
    UsageTookHour,
    UsageVersion,
    Visibility,
)
from tests.cast import Cast, start
from tests.runs.jobs import FAILED, FINISHED

pytestmark = pytest.mark.django_db

USAGES: list[Any] = [
    [],
    [{"model": "gpt-5", "inputTokens": 10, "outputTokens": 3, "cachedInputTokens": 4}],
    [{"inputTokens": 7, "cost": 0.1}],
    [{"model": "a", "inputTokens": 1, "cost": 0.1}, {"model": "b", "outputTokens": 2}],
    [{"model": "a", "inputTokens": 2**62}, {"model": "a", "inputTokens": 2**62}],
    [{"model": "x\ty", "inputTokens": 2**63, "cost": 0.7}],
]
QUESTION = {"id": "q", "reason": "input_required"}
ASKED = FINISHED | {"outcome": {"type": "interrupt", "interrupts": [QUESTION]}}


TABLES: tuple[Any, ...] = (Usage, UsageError, UsageTook, UsageTookHour, UsageVersion)
VERSIONS = ("a" * 12, "b" * 12)


def stored() -> list[list[Any]]:
    return [sorted(_rows(table), key=repr) for table in TABLES]


def _rows(table: Any) -> Any:
    names = [field.attname for field in table._meta.concrete_fields if field.name != "id"]
    return table.objects.values_list(*names)


def add_up(cast: Cast) -> None:
    # else the first time recounts
    TeamUsage.objects.update(counted_at=timezone.now(), counted_as=sums.EDITION)
    rollup.run_once(60)
    assert not UsageChange.objects.exists()


def ended(cast: Cast, how: dict[str, Any] | None, **body: Any) -> Run:
    run = start(cast.alice, **body)
    if how is None:
        lifecycle.cancel(run)
    else:
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, how)
    return run


def total(**where: Any) -> tuple[int, int, int]:
    rows = Usage.objects.filter(grain=Grain.FINEST, **where)
    return (
        sum(row.runs for row in rows),
        sum(int(row.tokens_in) for row in rows),
        sum(int(row.tokens_out) for row in rows),
    )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["start", "end", "fail", "ask", "cancel", "erase", "erase thread", "hide", "later",
             "slow", "change agent", "fold"]
        ),
        st.integers(0, 3),
        st.sampled_from(USAGES),
    ),
    max_size=30,
)  # fmt: skip


def take(cast: Cast, act: str, which: int, usage: Any) -> None:
    runs = Run.objects.order_by("journal_id")
    thread = Thread.objects.filter(thread_id=f"t{which}").first()
    active = runs.filter(thread=thread, ended_at=None).first()
    match act:
        case "start":
            start(cast.alice if which % 2 else cast.bob, threadId=f"t{which}")
        case "end" | "fail" | "ask" if active is not None:
            lifecycle.claim(active.pk)
            how = {"end": FINISHED, "fail": FAILED, "ask": ASKED}[act]
            lifecycle.finish(active.pk, how | {"usage": usage})
        case "cancel" if active is not None:
            lifecycle.cancel(active)
        case "erase" if (run := runs.exclude(ended_at=None).first()) is not None:
            erasure.erase_run("host", run)  # purges it, where its thread has others
        case "erase thread" if thread is not None:
            erasure.erase_thread("host", thread)
        case "hide" if thread is not None:
            other = {Visibility.TEAM: Visibility.PRIVATE, Visibility.PRIVATE: Visibility.TEAM}
            Thread.objects.filter(pk=thread.pk).update(visibility=other[thread.visibility])
        case "later" if thread is not None:
            moved = timezone.now() + timedelta(hours=5, days=which)
            Run.objects.filter(thread=thread).update(created_at=moved)
        case "slow":
            runs.filter(thread=thread).update(started_at=timezone.now() - timedelta(minutes=which))
        case "change agent":
            Agent.objects.filter(pk=cast.echo.pk).update(version=VERSIONS[which % 2])
        case "fold":
            rollup.fold(cast.team.pk, most=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_gives_what_a_recount_gives(cast: Cast, steps: list[Any]) -> None:
    with transaction.atomic():
        for act, which, usage in steps:
            try:
                with transaction.atomic():
                    take(cast, act, which, usage)
            except HostError:
                continue  # a busy thread, an illegal transition: nothing has changed
        add_up(cast)
        added = stored()
        rollup.recount(cast.team.pk)
        assert added == stored()
        ended_runs = Run.objects.exclude(ended_at=None)
        assert total()[0] == ended_runs.count()
        assert total()[1] == sum(run.tokens_in or 0 for run in ended_runs)
        for grain in (Grain.AGENT, Grain.PERSON):
            assert sum(row.runs for row in Usage.objects.filter(grain=grain)) == total()[0]
        days, hours = UsageTook.objects, UsageTookHour.objects
        for rows in (days.filter(agent=None), days.exclude(agent=None), hours.all()):
            assert sum(row.runs for row in rows) == started(ended_runs).count()
        check_versions(ended_runs)
        failures = sum(row.runs for row in UsageError.objects.all())
        assert failures == ended_runs.filter(status="failed").count()
        transaction.set_rollback(True)


def started(runs: Any) -> Any:
    return runs.exclude(started_at=None)


def check_versions(runs: Any) -> None:
    """The figures of each version are those of its runs, of any age."""
    for version in {run.agent_version for run in runs if run.agent_version}:
        rows = UsageVersion.objects.filter(version=version)
        own = runs.filter(agent_version=version)
        assert sum(row.runs for row in rows) == own.count()
        assert sum(row.failed for row in rows) == own.filter(status="failed").count()
        assert sum(row.cost for row in rows) == sum(Decimal(str(run.cost or 0)) for run in own)


def test_an_erased_run_counts_no_more_and_a_purged_one_still_does(cast: Cast) -> None:
    usage = {"usage": [{"model": "m", "inputTokens": 5, "outputTokens": 2}]}
    for how in (FINISHED | usage, FAILED | usage, ASKED | usage, None):
        ended(cast, how, threadId="t")
        ended(cast, how, threadId="other")
    add_up(cast)
    assert total() == (8, 30, 12)
    assert total(model="m") == (6, 30, 12)
    (row,) = Usage.objects.filter(grain=Grain.PERSON)
    assert (row.succeeded, row.failed, row.interrupted, row.cancelled) == (2, 2, 2, 2)
    assert (row.person, row.questions) == ("user:alice", 2)

    thread = Thread.objects.get(thread_id="t")
    erasure.erase_run("host", Run.objects.filter(thread=thread).order_by("pk")[0])
    assert Run.objects.exclude(purged_at=None).count() == 1
    add_up(cast)
    assert total() == (8, 30, 12)
    erasure.erase_thread("host", thread)
    add_up(cast)
    assert total() == (4, 15, 6)
    erasure.erase_thread("host", Thread.objects.get(thread_id="other"))
    add_up(cast)
    assert stored() == [[] for _ in TABLES]


def test_a_change_counts_once_while_it_is_added_up(cast: Cast) -> None:
    for _ in range(5):
        ended(cast, FINISHED)
    assert rollup.fold(cast.team.pk, most=2) == 2
    assert (total()[0], UsageChange.objects.count()) == (2, 3)
    call_command("recount_usage", "acme")
    assert (total()[0], UsageChange.objects.count()) == (5, 0)
    assert rollup.fold(cast.team.pk) == 0


def test_runs_from_before_are_counted_the_first_time(cast: Cast) -> None:
    ended(cast, FINISHED)
    UsageChange.objects.all().delete()  # as in a database that had no such table
    rollup.run_once(60)
    assert total()[0] == 1
    assert TeamUsage.objects.exclude(counted_at=None).exists()


def test_a_team_that_an_earlier_release_has_counted_is_counted_again(cast: Cast) -> None:
    run = ended(cast, FINISHED)
    add_up(cast)
    TeamUsage.objects.update(counted_as=sums.EDITION - 1)
    UsageVersion.objects.all().delete()  # which that release did not have
    rollup.run_once(60)
    assert [row.version for row in UsageVersion.objects.all()] == [run.agent.version]
    assert TeamUsage.objects.get(team=cast.team).counted_as == sums.EDITION
