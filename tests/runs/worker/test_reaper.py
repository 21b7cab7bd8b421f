"""The reaper ends the runs that nobody works on any more, and no others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from agui_host.backends.postgres.base import apart
from agui_host.runtimes.models import Agent
from runs.lifecycle import lifecycle
from runs.models import Run, Worker
from runs.worker import reaper
from runs.worker.patience import looking_every
from tests.acceptance.host import wait_for
from tests.cast import Cast, fresh, start, types_of
from tests.runs.jobs import a_worker, give, gone, silence, taken_by

TOO_LATE = settings.AGUI_WORKER_LOST_AFTER + 1


@pytest.fixture
def worker(db: None) -> int:
    """A live worker."""
    return a_worker()


def run_on(worker: int, cast: Cast, thread: str = "t") -> Run:
    """A run that this worker has taken and claimed."""
    run = start(cast.alice, threadId=thread)
    assert lifecycle.claim(run.pk)
    give(run, worker)
    return run


def lost(run: Run) -> bool:
    row = fresh(run)
    ended = (row.status, row.error_code) == ("failed", "worker_lost")
    if ended:
        assert types_of(run) == ["RUN_STARTED", "RUN_ERROR"]
        assert row.journal.closed_at is not None
        assert row.due_at is None
    return ended


@pytest.mark.django_db
class TestOrphans:
    def test_the_workers_row_is_gone(self, cast: Cast, worker: int) -> None:
        run = run_on(worker, cast)
        gone(worker)
        assert reaper.run_once() == [run.pk]
        assert lost(run)

    def test_the_worker_does_not_beat_any_more(self, cast: Cast, worker: int) -> None:
        run = run_on(worker, cast)
        silence(worker, TOO_LATE)
        assert reaper.run_once() == [run.pk]
        assert lost(run)

    def test_the_silent_workers_row_goes_too(self, cast: Cast, worker: int) -> None:
        """So that it learns, should it wake up, that its runs were given away."""
        run_on(worker, cast)
        silence(worker, TOO_LATE)
        reaper.run_once()
        assert not Worker.objects.filter(pk=worker).exists()

    def test_nobody_has_it_and_nobody_is_to_take_it(self, cast: Cast, worker: int) -> None:
        """Its worker gave it up."""
        running, queued = run_on(worker, cast, "a"), start(cast.alice, threadId="b")
        for run in (running, queued):
            give(run, None)
        assert set(reaper.run_once()) == {running.pk, queued.pk}
        assert lost(running)
        assert lost(queued)

    def test_its_parent_has_ended_without_it(self, cast: Cast, worker: int) -> None:
        """A parent waits for its children, so that their executor must have failed."""
        parent, child = run_on(worker, cast, "a"), run_on(worker, cast, "b")
        Run.objects.filter(pk=child.pk).update(parent=parent)
        assert reaper.run_once() == []
        lifecycle.finish(parent.pk, {"type": "RUN_FINISHED"})
        assert reaper.run_once() == [], "the child may end at the same moment"
        # The database's now() is the beginning of this test, however long that is ago.
        late = timezone.now() - timedelta(hours=1, seconds=TOO_LATE)
        Run.objects.filter(pk=parent.pk).update(ended_at=late)
        assert reaper.run_once() == [child.pk]
        assert lost(child)

    def test_a_claim_may_take_its_time(self, cast: Cast, worker: int) -> None:
        """A taken run of a live worker is the worker's affair, however long nothing is seen."""
        run = start(cast.alice)
        give(run, worker)
        assert reaper.run_once() == []
        gone(worker)
        assert reaper.run_once() == [run.pk]
        assert lost(run)

    def test_the_thread_is_free_afterwards(self, cast: Cast, worker: int) -> None:
        run_on(worker, cast)
        gone(worker)
        reaper.run_once()
        following = start(cast.alice, threadId="t")
        assert taken_by(a_worker()) == [following]

    def test_the_second_look_finds_nothing(self, cast: Cast, worker: int) -> None:
        run_on(worker, cast)
        gone(worker)
        assert len(reaper.run_once()) == 1
        assert reaper.run_once() == []


@pytest.mark.django_db
class TestLeftAlone:
    def test_the_runs_of_a_live_worker(self, cast: Cast, worker: int) -> None:
        run = run_on(worker, cast)
        silence(worker, settings.AGUI_WORKER_LOST_AFTER / 2)
        assert reaper.run_once() == []
        assert fresh(run).status == "running"

    def test_runs_that_wait_for_a_worker(self, cast: Cast, worker: int) -> None:
        gone(worker)
        run = start(cast.alice)
        assert reaper.run_once() == []
        assert fresh(run).status == "queued"

    def test_a_run_that_waits_behind_a_live_one(self, cast: Cast, worker: int) -> None:
        run_on(worker, cast)
        waiting = start(cast.alice, threadId="t", onBusy="enqueue")
        assert reaper.run_once() == []
        assert fresh(waiting).status == "queued"

    def test_ended_runs(self, cast: Cast, worker: int) -> None:
        run = run_on(worker, cast)
        lifecycle.finish(run.pk, {"type": "RUN_FINISHED"})
        gone(worker)
        assert reaper.run_once() == []
        assert fresh(run).status == "succeeded"

    def test_the_neighbours_of_an_orphan(self, cast: Cast, worker: int) -> None:
        orphan, other = run_on(worker, cast, "a"), run_on(worker, cast, "b")
        give(orphan, None)
        assert reaper.run_once() == [orphan.pk]
        assert fresh(other).status == "running"


@pytest.mark.django_db
def test_a_run_that_cannot_be_ended_does_not_save_the_others(
    cast: Cast, worker: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = run_on(worker, cast, "a"), run_on(worker, cast, "b")
    gone(worker)
    real = lifecycle.end_lost

    def break_on_first(run: Run) -> bool:
        if run.pk == first.pk:
            raise RuntimeError("the database has a bad day")
        return real(run)

    monkeypatch.setattr(lifecycle, "end_lost", break_on_first)
    assert reaper.run_once() == [second.pk]
    monkeypatch.undo()
    assert reaper.run_once() == [first.pk]


@contextmanager
def another_reaper(idle: str = "1h") -> Iterator[None]:
    """Another process that looks just now, and does nothing for longer than ``idle``."""
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with suppress(psycopg.Error), apart() as other:  # its session may be ended
            row = other.execute(reaper.ALONE, {"lock": reaper.LOCK, "idle": idle}).fetchone()
            assert row is not None
            assert row[1]
            locked.set()
            done.wait(20)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert locked.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join(10)


@pytest.mark.django_db(transaction=True)
class TestManyReapers:
    def test_one_at_a_time(self, cast: Cast, worker: int) -> None:
        run = run_on(worker, cast)
        gone(worker)
        with another_reaper():
            assert reaper.run_once() == []
            assert fresh(run).status == "running"
        assert reaper.run_once() == [run.pk]
        assert lost(run)

    def test_a_reaper_that_was_cut_off_does_not_keep_the_lock(
        self, cast: Cast, worker: int
    ) -> None:
        """PostgreSQL ends its transaction, whether or not it takes the process for alive."""
        run = run_on(worker, cast)
        gone(worker)
        with another_reaper("1s"):
            assert reaper.run_once() == []
            wait_for(lambda: reaper.run_once() == [run.pk], "the lock to be free")
        assert lost(run)

    def test_no_session_keeps_anything_of_a_look(self, cast: Cast, worker: int) -> None:
        """A pooler would hand it to others."""
        with connection.cursor() as cursor:
            cursor.execute("select pg_backend_pid()")
        reaper.run_once()
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from pg_locks where locktype = 'advisory'")
            assert cursor.fetchone()[0] == 0
            cursor.execute("show idle_in_transaction_session_timeout")
            assert cursor.fetchone()[0] == "15s"

    def test_the_lock_is_given_back_after_an_error(
        self, cast: Cast, worker: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reaper, "ORPHANS", "select no_such_column from runs_run")
        with pytest.raises(Exception, match="no_such_column"):
            reaper.run_once()
        with another_reaper():
            pass


@pytest.mark.django_db
class TestBurial:
    """What the supervisor of a dead worker asks for, which needs no old heartbeat."""

    def test_its_runs_end_and_nobody_elses(self, cast: Cast, worker: int) -> None:
        other = a_worker()
        run, neighbour = run_on(worker, cast, "a"), run_on(other, cast, "b")
        waiting = start(cast.alice, threadId="c")
        silence(other, TOO_LATE)  # maybe all were silent, because the database was away
        assert reaper.bury(worker) == [run.pk]
        assert lost(run)
        assert not lost(neighbour)
        assert fresh(waiting).status == "queued"
        assert reaper.bury(worker) == []

    def test_its_chores_are_ended(self, cast: Cast, worker: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("insert into procrastinate_workers default values returning id")
            (chores,) = cursor.fetchone()
            Worker.objects.filter(pk=worker).update(chores=chores)
            cursor.execute(
                "insert into procrastinate_jobs (task_name, queue_name, status, worker_id)"
                " values ('a chore', 'runs', 'doing', %s)",
                [chores],
            )
        assert reaper.bury(worker) == []
        assert not ProcrastinateJob.objects.filter(status="doing").exists()

    def test_a_repeatable_run_starts_again_with_its_end(self, cast: Cast, worker: int) -> None:
        Agent.objects.update(repeatable=True)
        run = run_on(worker, cast)
        assert reaper.bury(worker) == [run.pk]
        assert lost(run)
        again = Run.objects.get(repeats=run)
        assert (again.status, again.due_at is not None) == ("queued", True)


@pytest.mark.django_db
class TestTheNextLook:
    @pytest.fixture(autouse=True)
    def alone(self, worker: int) -> None:
        """Another test can have left a worker, which says nothing."""
        with connection.cursor() as cursor:
            cursor.execute("delete from procrastinate_workers")
            cursor.execute("delete from runs_worker where id <> %s", [worker])

    def test_is_the_usual_one_while_all_workers_beat(self, worker: int) -> None:
        assert reaper.seconds_to_next() == looking_every()

    def test_comes_when_a_silent_worker_is_lost(self, worker: int) -> None:
        silence(worker, settings.AGUI_WORKER_LOST_AFTER - 2)
        assert 1 < reaper.seconds_to_next() <= 2 + reaper.SOON
        silence(worker, TOO_LATE)
        assert reaper.seconds_to_next() == reaper.AGAIN, "another process may judge it"

    def test_is_the_usual_one_without_workers(self, worker: int) -> None:
        gone(worker)
        assert reaper.seconds_to_next() == looking_every()
