"""Words are stored after the end, once, by turns of the teams; a purge leaves none."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from structlog.testing import capture_logs

from runs.access import threads
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import erasure, retention
from runs.lifecycle.words import contents, search, storing
from runs.models import Run, RunWords
from tests.cast import Actor, Cast, start
from tests.runs import clocks
from tests.runs.asking import end
from tests.runs.lifecycle.test_retention import elsewhere
from tests.runs.past import old_run

pytestmark = pytest.mark.django_db(transaction=True)


def saying(actor: Actor, text: str, thread: str = "t", *, ends: bool = True) -> Run:
    message = {"id": "1", "role": "user", "content": text}
    run = start(actor, threadId=thread, messages=[message])
    if ends:
        end(run)
    return run


def runs_with(cast: Cast, text: str) -> set[Any]:
    runs = search.containing(Run.objects.for_team(cast.team), cast.team.pk, text)
    return set(runs.values_list("pk", flat=True))


def due_of(run: Run) -> int:
    return int(RunWords.objects.get(run=run).due)


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def closing() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=closing)
    thread.start()
    return thread


class TestWhen:
    def test_an_id_of_the_future_hides_no_later_run(self, cast: Cast) -> None:
        saying(cast.alice, "first", "a")
        storing.run_once(10)
        with clocks.ahead(2 * storing.LATEST):
            saying(cast.alice, "early", "b")
        storing.run_once(10)
        run = saying(cast.alice, "refund", "c")
        storing.run_once(10)
        assert runs_with(cast, "refund") == {run.pk}

    def test_after_the_end_and_once(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        assert runs_with(cast, "refund") == set()
        assert storing.run_once(10) == 1
        assert runs_with(cast, "refund") == {run.pk}
        assert due_of(run) == storing.DONE
        assert storing.run_once(10) == 0

    def test_a_live_run_is_found_by_what_is_known_of_it(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund", ends=False)
        assert storing.run_once(10) == 1
        assert runs_with(cast, "refund") == {run.pk}
        assert due_of(run) == storing.OF_LIVE
        assert storing.run_once(10) == 0, "nothing to do until it ends"
        lifecycle.cancel(run)
        assert storing.run_once(10) == 1
        assert due_of(run) == storing.DONE

    def test_no_work_costs_the_same_few_queries(self, cast: Cast) -> None:
        costs = []
        for number in (1, 20):
            for each in range(number):
                saying(cast.alice, "refund", f"{number} {each}")
            storing.run_once(30)
            with CaptureQueriesContext(connection) as queries:
                assert storing.run_once(30) == 0
            costs.append(len(queries))
        assert costs == [5, 5]

    def test_existing_runs_are_marked_from_the_newest_to_the_oldest(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(storing, "MARKED", 2)
        monkeypatch.setattr(storing, "LATEST", 0)
        runs = [saying(cast.alice, "refund", str(n)) for n in range(5)]
        tombstone = old_run(cast.alice)
        retention._entomb(tombstone.team_id, [tombstone.pk])
        marked = []
        for _ in range(4):
            storing.mark()
            marked.append(set(RunWords.objects.values_list("run", flat=True)))
        in_order = [run.pk for run in (tombstone, *runs)][::-1]
        assert marked == [set(in_order[:2]), set(in_order[:4]), {*in_order}, {*in_order}]
        assert due_of(tombstone) == storing.DONE
        assert saying(cast.alice, "late", "6")
        assert storing.mark() == 1

    def test_one_whose_transaction_commits_late_is_not_missed(self, cast: Cast) -> None:
        early = saying(cast.alice, "early", "1")
        later = saying(cast.alice, "later", "2")
        RunWords.objects.create(run=later, team=cast.team, due=storing.STALE)
        storing.mark()
        storing.run_once(10)
        assert runs_with(cast, "early") == {early.pk}

    def test_several_workers_store_each_run_once(self, cast: Cast) -> None:
        runs = {saying(cast.alice, "refund", str(n)).pk for n in range(10)}
        stored: list[int] = []
        workers = [in_thread(lambda: stored.append(storing.run_once(20))) for _ in range(3)]
        for worker in workers:
            worker.join(30)
        assert sum(stored) == 10
        assert runs_with(cast, "refund") == runs

    def test_a_batch_that_fails_leaves_nothing_half_done(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone, *runs = [saying(cast.alice, "refund", str(n)) for n in range(4)]
        storing.mark()
        turns = storing.due()
        with transaction.atomic():
            retention._entomb(gone.team_id, [gone.pk])
        turns.append((gone.pk, storing.STALE))
        with monkeypatch.context() as patch:
            patch.setattr(storing, "STORE", f"{storing.STORE} and 1 / (new.version - 2) > 0")
            with pytest.raises(DataError):
                storing.store(turns)
        assert not RunWords.objects.exclude(words=None).exists()
        assert storing.store(turns) == 3
        assert runs_with(cast, "refund") == {run.pk for run in runs}

    def test_a_batch_takes_no_more_queries_than_one_run(self, cast: Cast) -> None:
        costs = []
        for number in (1, 20):
            for each in range(number):
                saying(cast.alice, "refund", f"{number} {each}")
            storing.mark()
            with CaptureQueriesContext(connection) as queries:
                assert storing.store(storing.due()) == number
            costs.append(len(queries))
        assert costs[0] == costs[1]

    def test_long_runs_are_stored_with_short_ones(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(contents, "SHORT_INPUT", 2_000)
        long = saying(cast.alice, "refund " * 500, "long")
        short = saying(cast.alice, "refund", "short")
        assert storing.run_once(10) == 2
        assert runs_with(cast, "refund") == {long.pk, short.pk}

    def test_a_worker_that_is_to_stop_leaves_the_rest(self, cast: Cast) -> None:
        saying(cast.alice, "refund")
        assert storing.run_once(10, lambda: True) == 0
        assert storing.run_once(10) == 1

    def test_it_rests_as_long_as_it_works(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rests: list[float] = []
        monkeypatch.setattr(storing, "REST", 1.0)
        monkeypatch.setattr(storing, "BATCH", 1)
        monkeypatch.setattr(storing.time, "sleep", rests.append)
        for number in range(3):
            saying(cast.alice, "refund", str(number))
        storing.run_once(10)
        assert len(rests) == 3
        assert min(rests) > 0


class TestTurns:
    def test_a_hundred_runs_of_one_team_hold_up_no_other(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(storing, "PER_TURN", 5)
        waiting = [saying(cast.alice, "refund", str(n)) for n in range(20)]
        theirs = saying(cast.charlie, "theirs")
        waiting += [saying(cast.alice, "refund", str(n)) for n in range(20, 40)]
        storing.mark()
        turn = [run_id for run_id, _ in storing.due()]
        assert theirs.pk in turn[:2]
        newest = [run.pk for run in waiting[::-1]]
        assert [key for key in turn if key != theirs.pk] == newest[: storing.PER_TURN]

    def test_one_that_cannot_be_read_is_set_aside_and_logged_once(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken, fine = saying(cast.alice, "broken", "1"), saying(cast.alice, "fine", "2")
        Run.objects.filter(pk=broken.pk).update(input="{")
        with capture_logs() as lines:
            assert storing.run_once(10) == 1
            assert storing.run_once(10) == 0
        events = [line for line in lines if line["event"] == "words.not_stored"]
        assert [line["run"] for line in events] == [str(broken.pk)]
        assert due_of(broken) == storing.SET_ASIDE
        assert runs_with(cast, "fine") == {fine.pk}

    def test_a_database_that_is_away_is_no_fault_of_the_run(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = saying(cast.alice, "refund")

        def away(*args: object) -> None:
            raise OperationalError("the server closed the connection")

        with monkeypatch.context() as patch:
            patch.setattr(contents, "read_many", away)
            with pytest.raises(OperationalError):
                storing.run_once(10)
        assert storing.run_once(10) == 1
        assert runs_with(cast, "refund") == {run.pk}


class TestWhatGoes:
    def test_the_words_of_a_purged_run(self, cast: Cast) -> None:
        run = old_run(cast.alice, messages=[{"id": "1", "role": "user", "content": "refund"}])
        storing.run_once(10)
        assert runs_with(cast, "refund") == {run.pk}
        retention._entomb(run.team_id, [run.pk])
        assert runs_with(cast, "refund") == set()
        assert RunWords.objects.get(run=run).words is None
        assert storing.run_once(10) == 0

    def test_the_rows_of_an_erased_thread(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        storing.run_once(10)
        erasure.erase_thread(cast.alice.principal, run.thread)
        assert not RunWords.objects.exists()

    @pytest.mark.parametrize("ended", [True, False])
    @pytest.mark.parametrize("erased", [True, False])
    def test_a_purge_between_reading_and_storing(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch, ended: bool, erased: bool
    ) -> None:
        run = saying(cast.alice, "refund", ends=ended)
        storing.mark()
        read = contents.read_many

        def purged_meanwhile(run_ids: Any) -> Any:
            texts = read(run_ids)
            if not ended:
                lifecycle.cancel(run)
            if erased:
                erasure.erase_thread(cast.alice.principal, run.thread)
            else:
                with transaction.atomic():
                    retention._entomb(run.team_id, [run.pk])
            return texts

        monkeypatch.setattr(contents, "read_many", purged_meanwhile)
        assert not storing.store([(run.pk, storing.STALE)])
        assert not RunWords.objects.exclude(words=None).exists()

    def test_a_purge_that_is_not_over_is_waited_for(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        storing.mark()
        stored: list[int] = []
        with elsewhere(lambda: retention._entomb(run.team_id, [run.pk])):
            worker = in_thread(lambda: stored.append(storing.store([(run.pk, storing.STALE)])))
            worker.join(0.5)
            assert worker.is_alive(), "the run could still be read"
        worker.join(20)
        assert stored == [0]
        assert RunWords.objects.get(run=run).words is None

    def test_a_purge_that_knew_no_mark_is_waited_for_as_well(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        stored: list[int] = []
        with elsewhere(lambda: retention._entomb(run.team_id, [run.pk])):
            storing.mark()
            worker = in_thread(lambda: stored.append(storing.store([(run.pk, storing.STALE)])))
            worker.join(0.5)
        worker.join(20)
        assert stored == [0]
        assert RunWords.objects.get(run=run).words is None

    def test_a_purge_waits_for_what_is_being_stored(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        storing.mark()
        with elsewhere(lambda: storing.store([(run.pk, storing.STALE)])):
            worker = in_thread(lambda: retention._entomb(run.team_id, [run.pk]))
            worker.join(0.5)
            assert worker.is_alive()
        worker.join(20)
        assert RunWords.objects.get(run=run).words is None


class TestRenamed:
    def test_a_thread_is_found_by_its_new_title(self, cast: Cast) -> None:
        run = saying(cast.alice, "refund")
        for title in ("Fragile", "Sturdy"):
            threads.change(cast.alice.principal, run.thread_id, {"title": title})
            assert storing.run_once(10) == 1
        assert runs_with(cast, "sturdy refund") == {run.pk}
        assert runs_with(cast, "fragile") == set()
        threads.change(cast.alice.principal, run.thread_id, {"tags": ["x"]})
        assert storing.run_once(10) == 0

    def test_also_while_the_old_one_is_being_stored(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = saying(cast.alice, "refund")
        storing.mark()
        read = contents.read_many

        def renamed_meanwhile(run_ids: Any) -> Any:
            texts = read(run_ids)
            threads.change(cast.alice.principal, run.thread_id, {"title": "Fragile"})
            return texts

        with monkeypatch.context() as patch:
            patch.setattr(contents, "read_many", renamed_meanwhile)
            assert not storing.store([(run.pk, storing.STALE)])
        assert storing.run_once(10) == 1
        assert runs_with(cast, "fragile") == {run.pk}
