"""A run that kills its workers ends by itself, not with all that was executed beside it."""

from datetime import timedelta

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
    return register("durable", "scripted", recovery="continue", recovery_attempts=5)


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
    Recovery.objects.filter(run__due_at=None).update(
        at=F("at") - timedelta(hours=1), taken_at=F("taken_at") - timedelta(hours=1)
    )


def on_probation(cast: Cast, agent: Agent, *names: str, lost: int = 2) -> list[Run]:
    """Runs that have lost so many workers soon after they were taken."""
    runs = begun(cast, agent, *names)
    for _ in range(lost):
        worker = a_worker()
        assert take(worker) == set(names)
        die(worker)
    assert losses(runs) == [lost] * len(names)
    return runs


def test_in_groups_and_others_beside_them(cast: Cast, agent: Agent) -> None:
    names = {f"n{number}" for number in range(10)}
    on_probation(cast, agent, *names)
    begun(cast, agent, "new")
    first, second = a_worker(), a_worker()
    of_first, of_second = take(first), take(second)
    assert "new" in of_first
    assert len(of_first & names) == 8
    assert of_first | of_second == names | {"new"}


def test_alone_from_the_third_loss_on(cast: Cast, agent: Agent) -> None:
    on_probation(cast, agent, "a", "b", "c", lost=3)
    begun(cast, agent, "new")
    first, second = a_worker(), a_worker()
    of_first, of_second = take(first), take(second)
    assert len(of_first - {"new"}) == len(of_second) == 1
    assert take(first) == take(second) == set(), "until those are over, or have lasted"
    calm()
    assert take(first) | of_first | of_second == {"a", "b", "c", "new"}


def test_the_loss_counts_for_those_on_probation_alone(cast: Cast, agent: Agent) -> None:
    suspects = on_probation(cast, agent, "a", "b")
    (beside,) = begun(cast, agent, "new")
    worker = a_worker()
    assert take(worker) == {"a", "b", "new"}
    silence(worker, TOO_LATE)
    # It died as soon as it had taken them, long before it is given up.
    ago = timedelta(seconds=TOO_LATE)
    Recovery.objects.update(at=F("at") - ago, taken_at=F("taken_at") - ago)
    reaper.run_once()
    assert losses([*suspects, beside]) == [3, 3, 0]
    recovery = Recovery.objects.get(run=beside)
    assert (recovery.reason, recovery.counts) == ("worker_lost", False)
    assert (fresh(beside).due_at or timezone.now()) <= timezone.now(), "it pays no pause"


def test_who_has_lasted_is_no_suspect(cast: Cast, agent: Agent) -> None:
    (old,) = on_probation(cast, agent, "a")
    (beside,) = begun(cast, agent, "new")
    worker = a_worker()
    take(worker)
    calm()
    assert probation.suspects([old.pk, beside.pk], {}) == {}
    die(worker)
    assert losses([old, beside]) == [3, 1]
    assert take(a_worker()) == {"a", "new"}
    assert probation.suspects([old.pk, beside.pk], {}) == {}, "the last attempt was not lost soon"


def test_a_run_that_kills_every_worker_ends_alone(cast: Cast, agent: Agent) -> None:
    runs = {run.run_id: run for run in begun(cast, agent, *"abcdefghij", "poison")}
    deaths = 0
    while fresh(runs["poison"]).ended_at is None:
        assert (deaths := deaths + 1) < 40
        worker = a_worker()
        if "poison" in take(worker):
            die(worker)
        else:
            calm()
    poison = runs.pop("poison")
    assert fresh(poison).error_code == "worker_lost"
    assert {fresh(run).status for run in runs.values()} == {"running"}
    assert 2 <= min(losses([*runs.values()])) <= max(losses([*runs.values()])) <= 3
    assert "as 4 others before it. The last of them" in log_of(poison)[-1]["message"]
