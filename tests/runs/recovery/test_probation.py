"""A run that kills its workers ends by itself, not with all that was executed beside it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from agui_host.backends.postgres import clock
from agui_host.runtimes.models import Agent
from runs.lifecycle.recovery import handing, probation
from runs.models import Recovery, Run
from runs.worker import reaper
from runs.worker.continuing import claims
from tests.cast import Cast, Register, fresh, log_of, start
from tests.runs.jobs import a_worker, give, gone, silence, taken_by
from tests.runs.worker.test_reaper import TOO_LATE

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(register: Register) -> Agent:
    return register("durable", "scripted", recovery="continue", recovery_attempts=4)


def begun(cast: Cast, agent: Agent, *names: str) -> list[Run]:
    return [start(cast.alice, agent, threadId=name, runId=name) for name in names]


def take(worker: int) -> set[str]:
    """The worker begins what it can take now; the names of these runs."""
    runs = list(Run.objects.filter(status="queued"))
    for run in runs:
        give(run, worker)
    Run.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
    runs += taken_by(worker)
    for run in runs:
        assert claims.claim(run.pk, clock.now())
    return {run.run_id for run in runs}


def die(worker: int) -> None:
    gone(worker)
    reaper.run_once()


def losses(runs: list[Run]) -> list[int]:
    return [handing.lost_workers(run) for run in runs]


def calm() -> None:
    """The present attempts have lasted for long."""
    Recovery.objects.filter(taken_at__isnull=False).update(
        at=F("at") - timedelta(hours=1), taken_at=F("taken_at") - timedelta(hours=1)
    )


def on_probation(cast: Cast, agent: Agent, *names: str) -> list[Run]:
    """Runs that have lost two workers."""
    runs = begun(cast, agent, *names)
    for _ in range(2):
        worker = a_worker()
        assert take(worker) == set(names)
        die(worker)
    assert losses(runs) == [2] * len(names)
    return runs


def test_one_at_a_time_on_each_worker_and_others_beside_it(cast: Cast, agent: Agent) -> None:
    on_probation(cast, agent, "a", "b", "c")
    begun(cast, agent, "new")
    first, second = a_worker(), a_worker()
    of_first = take(first)
    assert "new" in of_first
    assert len(of_first & {"a", "b", "c"}) == 1
    of_second = take(second)
    assert len(of_second) == 1
    assert take(first) == take(second) == set(), "until those are over, or have lasted"
    calm()
    assert take(first) | of_first | of_second == {"a", "b", "c", "new"}


def test_the_loss_counts_for_the_one_on_probation_alone(cast: Cast, agent: Agent) -> None:
    suspect, innocent = on_probation(cast, agent, "a", "b")
    (beside,) = begun(cast, agent, "new")
    worker = a_worker()
    took = take(worker)
    assert "new" in took
    if "b" in took:
        suspect, innocent = innocent, suspect
    silence(worker, TOO_LATE)
    reaper.run_once()
    assert losses([suspect, innocent, beside]) == [3, 2, 0]
    recovery = Recovery.objects.get(run=beside)
    assert (recovery.reason, recovery.counts) == ("worker_lost", False)
    assert (fresh(beside).due_at or timezone.now()) <= timezone.now(), "it pays no pause"


def test_who_has_lasted_is_no_suspect(cast: Cast, agent: Agent) -> None:
    (old,) = on_probation(cast, agent, "a")
    (beside,) = begun(cast, agent, "new")
    worker = a_worker()
    take(worker)
    calm()
    assert probation.suspects([old.pk, beside.pk]) == {}
    die(worker)
    assert losses([old, beside]) == [3, 1]


def test_a_run_that_kills_every_worker_ends_alone(cast: Cast, agent: Agent) -> None:
    runs = {run.run_id: run for run in begun(cast, agent, "poison", *"abcde")}
    deaths = 0
    while fresh(runs["poison"]).ended_at is None:
        assert (deaths := deaths + 1) < 40
        worker = a_worker()
        took = take(worker)
        if "poison" in took:
            die(worker)
        else:
            calm()
    for name, run in runs.items():
        row: Any = fresh(run)
        assert row.error_code == ("worker_lost" if name == "poison" else ""), name
        assert handing.lost_workers(row) == (3 if name == "poison" else 2)
    assert "as 3 others before it. The last ones" in log_of(runs["poison"])[-1]["message"]
