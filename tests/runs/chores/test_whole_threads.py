"""Threads that go as a whole go many at a time: each once, and all of a transaction or none."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from agui_host.teams.models import Team
from events import purge
from events.models import Doomed, Event, Journal
from runs.lifecycle import admission, history
from runs.lifecycle.deletion import erasure, retention
from runs.models import Run, TeamUsage, Thread, ThreadHistory
from tests.cast import Cast, start
from tests.runs.asking import end
from tests.runs.past import old_run

pytestmark = pytest.mark.django_db(transaction=True)

SAID = [{"id": "m1", "role": "user", "content": "long ago"}]
BEFORE = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def a_year(settings: Settings) -> None:
    settings.AGUI_LIMIT_RETENTION_DAYS = 365


def old_runs(cast: Cast, count: int) -> list[Run]:
    return [old_run(cast.alice, threadId=f"old {n}", messages=SAID) for n in range(count)]


def stored_bytes(cast: Cast) -> int:
    admission.recount()
    return TeamUsage.objects.get(team=cast.team).stored_bytes


def at_once(count: int, work: Callable[[], object]) -> None:
    def closing() -> None:
        try:
            work()
        finally:
            connection.close()

    workers = [threading.Thread(target=closing) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)


class TestRetention:
    def test_more_threads_take_no_more_queries(self, cast: Cast) -> None:
        costs = []
        for count in (2, 12):
            threads = [run.thread_id for run in old_runs(cast, count)]
            with CaptureQueriesContext(connection) as queries:
                assert len(retention.purge_whole(cast.team, threads, BEFORE)) == count
            costs.append(len(queries))
            Thread.objects.for_team(cast.team).delete()
        assert costs[0] == costs[1]

    def test_a_thread_continues_with_an_empty_conversation(self, cast: Cast) -> None:
        (run,) = old_runs(cast, 1)
        retention.run_once()
        assert history.current(run.thread_id).messages == []
        stored = ThreadHistory.objects.get(thread=run.thread_id)
        assert stored.through == run.pk
        later = start(cast.alice, threadId=run.thread.thread_id, messages=SAID)
        end(later)
        assert len(history.current(run.thread_id).messages) >= 1

    def test_a_stored_conversation_is_emptied(self, cast: Cast) -> None:
        (run,) = old_runs(cast, 1)
        assert history.current(run.thread_id).messages
        retention.run_once()
        assert history.current(run.thread_id).messages == []

    def test_a_thread_with_a_later_run_and_one_with_a_hold_are_left(self, cast: Cast) -> None:
        mixed, on_hold, gone = old_runs(cast, 3)
        end(start(cast.alice, threadId=mixed.thread.thread_id, messages=SAID))
        Thread.objects.filter(pk=on_hold.thread_id).update(legal_hold=True)
        threads = [mixed.thread_id, on_hold.thread_id, gone.thread_id]
        assert retention.purge_whole(cast.team, threads, BEFORE) == {gone.thread_id: 1}
        assert set(Run.objects.exclude(purged_at=None).values_list("pk", flat=True)) == {gone.pk}

    def test_a_team_with_a_hold_is_left(self, cast: Cast) -> None:
        (run,) = old_runs(cast, 1)
        Team.objects.filter(pk=cast.team.pk).update(legal_hold=True)
        assert retention.purge_whole(cast.team, [run.thread_id], BEFORE) == {}

    def test_a_transaction_has_a_bounded_number_of_runs(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "RUNS", 2)
        threads = [run.thread_id for run in old_runs(cast, 5)]
        assert len(retention.purge_whole(cast.team, threads, BEFORE)) == 2
        retention.run_once()
        assert not Run.objects.filter(purged_at=None).exists()

    def test_two_workers_purge_each_thread_once(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retention, "RUNS", 3)
        threads = [run.thread_id for run in old_runs(cast, 12)]
        fresh = start(cast.alice, threadId="new", messages=SAID)
        end(fresh)
        fresh_bytes = Journal.objects.get(pk=fresh.pk).bytes
        assert stored_bytes(cast) > fresh_bytes
        counts: list[int] = []

        def work() -> None:
            while whole := retention.purge_whole(cast.team, threads, BEFORE):
                counts.append(sum(whole.values()))

        at_once(2, work)
        work()  # One of them may have met the threads of the other at the end.
        assert sum(counts) == 12
        assert TeamUsage.objects.get(team=cast.team).stored_bytes == fresh_bytes

    def test_a_transaction_that_fails_leaves_nothing_half_done(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        threads = [run.thread_id for run in old_runs(cast, 3)]

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(admission, "freed", killed)
            with pytest.raises(KeyboardInterrupt):
                retention.purge_whole(cast.team, threads, BEFORE)
        assert not Run.objects.exclude(purged_at=None).exists()
        assert not Doomed.objects.exists()
        assert all(history.current(thread).messages for thread in threads)
        assert len(retention.purge_whole(cast.team, threads, BEFORE)) == 3


class TestSweep:
    def test_a_step_takes_several_logs_and_a_part_of_the_last(self, cast: Cast) -> None:
        runs = old_runs(cast, 3)
        size = Event.objects.filter(journal_id=runs[0].pk).count()
        purge.doom([run.pk for run in runs])
        assert purge.sweep(2 * size + 1) == 2 * size + 1
        (doomed,) = Doomed.objects.all()
        assert (doomed.swept, doomed.last) == (1, size)
        assert purge.sweep(1_000) == size - 1
        assert purge.sweep(1_000) is None
        assert not Event.objects.filter(journal_id__in=[run.pk for run in runs]).exists()

    def test_two_workers_sweep_each_event_once(self, cast: Cast) -> None:
        runs = old_runs(cast, 10)
        total = Event.objects.filter(journal_id__in=[run.pk for run in runs]).count()
        purge.doom([run.pk for run in runs])
        counts: list[int] = []

        def work() -> None:
            while gone := purge.sweep(7):
                counts.append(gone)

        at_once(2, work)
        work()
        assert sum(counts) == total


class TestTeam:
    def test_it_goes_in_several_transactions(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(erasure, "THREADS", 3)
        old_runs(cast, 7)
        theirs = start(cast.charlie, threadId="theirs")
        end(theirs)
        erasure.erase_team(cast.team)
        assert not Team.objects.filter(pk=cast.team.pk).exists()
        assert list(Run.objects.values_list("pk", flat=True)) == [theirs.pk]
        assert list(Journal.objects.values_list("pk", flat=True)) == [theirs.pk]

    def test_a_hold_that_comes_in_between_stops_it(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(erasure, "THREADS", 2)
        runs = old_runs(cast, 5)
        assert erasure._erase_some(cast.team) == 2
        last = max(run.thread_id for run in runs)
        Thread.objects.filter(pk=last).update(legal_hold=True)
        with pytest.raises(erasure.LegalHold):
            erasure.erase_team(cast.team)
        assert Thread.objects.for_team(cast.team).count() == 3
