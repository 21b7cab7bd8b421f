"""Statements of a worker that take effect late, and a heartbeat that comes while it is buried."""

from uuid import UUID

import pytest

from runs.models import Run
from runs.worker import reaper
from runs.worker.taking import registration, take
from tests.cast import Cast, fresh, start
from tests.runs.jobs import a_worker, silence

pytestmark = pytest.mark.django_db(transaction=True)


def taken(cast: Cast, worker: int) -> Run:
    run = start(cast.alice)
    assert [each.run for each in take.take(worker, ["default"], 1)] == [run.pk]
    return run


def test_a_search_after_a_later_one_puts_nothing_back(cast: Cast) -> None:
    """Its answer was lost, and the run has begun since the later one."""
    worker = a_worker()
    assert take.put_back(worker, 2, [], []) == []
    run = taken(cast, worker)
    assert take.put_back(worker, 1, [], []) == []
    assert fresh(run).worker == worker
    assert take.put_back(worker, 2, [], [run.pk]) == [], "nor the same once more"
    assert fresh(run).worker == worker, "and it gives nothing up"
    assert take.put_back(worker, 3, [], []) == [run.pk]


def test_a_worker_does_not_beat_while_its_runs_are_judged(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = a_worker()
    run = taken(cast, worker)
    silence(worker, 10_000)
    beats: list[bool] = []
    reap = reaper._reap

    def beating(run_id: UUID, suspects: dict[int, set[UUID]]) -> bool:
        beats.append(registration.beat(worker, None, 1, draining=False))
        return reap(run_id, suspects)

    monkeypatch.setattr(reaper, "_reap", beating)
    assert reaper.run_once() == [run.pk]
    assert beats == [False]
