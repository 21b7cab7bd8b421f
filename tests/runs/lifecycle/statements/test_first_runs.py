"""A run that is alone in its thread: a fetch and an executor see the same, and claim alike."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection

from events.models import Journal
from runs.lifecycle import lifecycle
from runs.lifecycle.statements import claims
from runs.models import Run, ThreadHistory
from runs.worker.taking import take
from tests.cast import Cast, start
from tests.runs.asking import end
from tests.runs.jobs import a_worker, give

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def worker(cast: Cast) -> int:
    return a_worker()


def alone(cast: Cast) -> Run:
    return start(cast.alice, threadId="t")


def after_an_ended_run(cast: Cast) -> Run:
    end(start(cast.alice, threadId="t"))
    return start(cast.alice, threadId="t")


def after_a_cancelled_run(cast: Cast) -> Run:
    lifecycle.cancel(start(cast.alice, threadId="t"))
    return start(cast.alice, threadId="t")


def before_a_queued_run(cast: Cast) -> Run:
    first = start(cast.alice, threadId="t")
    start(cast.alice, threadId="t", onBusy="enqueue")
    return first


def with_a_history(cast: Cast) -> Run:
    """The rows of its earlier runs are erased, and their fold is still there."""
    run = start(cast.alice, threadId="t")
    ThreadHistory.objects.create(thread=run.thread, fold="{}", through=run.pk)
    return run


CASES = [alone, after_an_ended_run, after_a_cancelled_run, before_a_queued_run, with_a_history]


@pytest.mark.parametrize("case", CASES)
def test_a_fetch_claims_the_runs_that_an_executor_sees_alone(
    cast: Cast, worker: int, case: Callable[[Cast], Run]
) -> None:
    run = case(cast)
    is_first = claims._read(run.pk)[1]
    assert is_first == (case is alone)
    taken = take.take(worker, ["default"], 9)
    claimed = [each.claimed.run.pk for each in taken if each.claimed is not None]
    assert claimed == ([run.pk] if is_first else [])


def by_an_executor(run: Run, worker: int) -> None:
    give(run, worker)
    assert lifecycle.claim(run.pk, NOW)


def by_a_fetch(run: Run, worker: int) -> None:
    (taken,) = take.take(worker, ["default"], 1)
    assert taken.claimed is not None


@pytest.mark.parametrize("by", [by_an_executor, by_a_fetch])
def test_each_claim_leaves_the_same_rows(
    cast: Cast, worker: int, by: Callable[[Run, int], None]
) -> None:
    run = start(cast.alice)
    before = Journal.objects.get(pk=run.pk)
    by(run, worker)
    run.refresh_from_db()
    stored = Journal.objects.get(pk=run.pk)
    assert (run.status, run.started_at is None) == ("running", False)
    assert (stored.writer, stored.head) == (before.writer + 1, before.head)
    assert (run.worker, run.due_at) == (worker, None)
    assert run.stamp is not None
    with connection.cursor() as cursor:
        cursor.execute("select last_value from runs_virtual_time")
        assert cursor.fetchone()[0] >= run.stamp
