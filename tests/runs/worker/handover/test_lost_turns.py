"""A turn whose hand, worker or answer is lost begins once, with the history of its thread."""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events import journal
from events.writer import JournalWriter
from runs.lifecycle import history, lifecycle
from runs.lifecycle.statements import claims
from runs.lifecycle.steering import messages
from runs.models import Run, RunMessage, ThreadHistory
from runs.worker import reaper
from runs.worker.executor import Stop, execute
from runs.worker.taking import take
from runs.worker.taking.hands import MOST
from tests.cast import Cast, fresh, start, types_of
from tests.runs import asking
from tests.runs.conversing import user
from tests.runs.jobs import a_worker, gone
from tests.runs.worker.handover.test_hands import (
    linked,
    statuses,
    until_credits,
)
from tests.runs.worker.handover.turns import (
    HEARD,
    claimed_and_put_back,
    first_turn,
    losing,
    turn,
)
from tests.runs.worker.test_taking import until_ended, until_here, working

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("only_notifications"),
]


@pytest.mark.usefixtures("searching")
class TestLosses:
    async def test_a_line_that_never_comes(
        self,
        cast: Cast,
        hears: list[list[str]],
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        await db(first_turn, cast.alice)
        async with working(writer) as runs:
            lost = await losing(monkeypatch)
            run = await db(turn, cast.alice)
            assert (run.worker, len(lost.lost)) == (runs.id, 1), "the line was lost"
            (row,) = await until_ended(run)
        assert row.status == "succeeded"
        assert (await db(types_of, run)).count("RUN_STARTED") == 1
        assert await db(statuses, run) == ["queued", "running", "succeeded"]
        assert hears == [HEARD]

    async def test_the_next_turn_waits_for_one_that_was_put_back(
        self,
        cast: Cast,
        hears: list[list[str]],
        writer: JournalWriter,
    ) -> None:
        await db(first_turn, cast.alice)
        run = await db(claimed_and_put_back, cast, await db(a_worker))
        after = await db(partial(turn, cast.alice, messages=[user("And?", "u2")]))
        assert after.worker is None
        async with working(writer):
            await until_ended(run, after)
        assert hears[0] == HEARD
        assert [name for name in hears[1] if name[0] == "u"] == ["u0", "u1", "u2"]

    async def test_a_late_line_of_a_run_that_was_put_back(
        self,
        cast: Cast,
        hears: list[list[str]],
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            (link,) = ours.all
            lost = await losing(monkeypatch)
            run = await db(turn, cast.alice)
            await until_ended(run)
            await until_here(runs)  # its task ends after its row
            link.send(lost.lost[0])
            await until_credits(ours, MOST + 1)  # it was read
            assert runs.here == set()
        assert hears == [HEARD]
        assert (await db(types_of, run)).count("RUN_STARTED") == 1

    async def test_a_worker_that_was_given_up_begins_nothing(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        await db(first_turn, cast.alice)
        async with working(writer, lives=lambda: False) as runs, linked(runs) as ours:
            run = await db(turn, cast.alice)
            assert run.worker == runs.id
            await until_credits(ours, MOST)
            async with asyncio.timeout(30):
                # It has put the run back, and its take has claimed it again.
                while (await db(fresh, run)).journal.writer < 2 or runs.here:
                    await asyncio.sleep(0.01)
        assert hears == []

    def test_a_process_of_the_previous_release_queues_it_again(
        self, cast: Cast, hears: list[list[str]]
    ) -> None:
        """Its executors claim each run that has a history, from the queue only."""
        worker = a_worker()
        first_turn(cast.alice)
        run = claimed_and_put_back(cast, worker)
        with connection.cursor() as cursor:
            cursor.execute("select * from agui_take_runs(%s, '{default}', now(), 9)", [worker])
            names = [column.name for column in cursor.description]
            (row,) = [dict(zip(names, each, strict=True)) for each in cursor.fetchall()]
        assert (row["run"], row["generation"]) == (run.pk, None)
        again = fresh(run)
        assert (again.status, again.worker, again.started_at) == ("queued", worker, None)
        claimed = lifecycle.claim(run.pk, clock.now(), begins=True)
        assert claimed is not None
        its_messages = claimed.prepared.input["messages"]
        assert [message["id"] for message in its_messages] == HEARD

    async def test_an_agent_that_continues_begins_with_the_history(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        """Its worker is gone before the first event."""

        def taken_from_lost() -> Run:
            Agent.objects.filter(slug="listens").update(recovery="continue")
            first_turn(cast.alice)
            worker = a_worker()
            run = claimed_and_put_back(cast, worker)
            assert take.take(worker, ["default"], 9)[0].generation == 2
            gone(worker)
            assert reaper.run_once() == [run.pk]
            return run

        run = await db(taken_from_lost)
        async with working(writer):
            (row,) = await until_ended(run)
        assert row.status == "succeeded"
        assert hears == [HEARD]

    def test_a_run_that_is_lost_keeps_what_its_user_said(
        self, cast: Cast, hears: list[list[str]]
    ) -> None:
        worker = a_worker()
        first_turn(cast.alice)
        run = claimed_and_put_back(cast, worker)
        take.take(worker, ["default"], 9)
        gone(worker)
        assert reaper.run_once() == [run.pk]
        row = fresh(run)
        assert (row.status, row.error_code) == ("failed", "worker_lost")
        assert [message["id"] for message in history.current(run.thread_id).messages] == HEARD


class TestTheClaim:
    """A worker reads a run that its start has claimed."""

    def claimed(self, cast: Cast, **body: Any) -> tuple[UUID, int]:
        worker = a_worker()
        first_turn(cast.alice)
        run = claimed_and_put_back(cast, worker, **body)
        (taken,) = take.take(worker, ["default"], 9)
        assert (taken.run, taken.claimed, taken.generation) == (run.pk, None, 2)
        return run.pk, 2

    async def test_it_is_executed(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        run, generation = await db(self.claimed, cast)
        claimed = await db(claims.of_thread, run, generation)
        assert claimed is not None
        await execute(claimed, writer, lambda: Stop.CANCEL)
        assert hears == [HEARD]

    def test_nobody_has_it_who_was_fenced(self, cast: Cast, hears: list[list[str]]) -> None:
        run, generation = self.claimed(cast)
        assert claims.of_thread(run, generation - 1) is None
        assert journal.take_over(run) is not None
        assert claims.of_thread(run, generation) is None

    def test_a_worker_that_was_fenced_carries_no_messages(
        self, cast: Cast, hears: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They are for the worker that has the run."""
        before = start(cast.alice, threadId="t", messages=[user("Is it?", "u0")])
        claimed = lifecycle.claim(before.pk)
        assert claimed is not None
        messages.send(before, "m", "Only the last year.", cast.alice.principal)
        asking.finish(claimed)
        run = claimed_and_put_back(cast, worker := a_worker())
        (taken,) = take.take(worker, ["default"], 9)
        assert taken.generation is not None
        real = history.measured

        def measured(*args: Any) -> Any:
            past = real(*args)
            assert journal.take_over(run.pk) is not None
            return past

        monkeypatch.setattr(history, "measured", measured)
        assert claims.of_thread(run.pk, taken.generation) is None
        assert RunMessage.objects.of_any_team().get().carried_by_id is None

    @pytest.mark.parametrize("is_fenced", [False, True])
    def test_a_regenerate_is_stored_with_the_first_event(
        self,
        cast: Cast,
        hears: list[list[str]],
        monkeypatch: pytest.MonkeyPatch,
        is_fenced: bool,
    ) -> None:
        """A worker that has lost the run in between changes nothing."""
        run, generation = self.claimed(cast, messages=[user("Is it?", "u0")])
        real = history.prepare

        def prepare(*args: Any, **options: Any) -> Any:
            prepared = real(*args, **options)
            if options.get("stores") is False and is_fenced:
                assert journal.take_over(run) is not None
            return prepared

        monkeypatch.setattr(history, "prepare", prepare)
        claimed = claims.of_thread(run, generation)
        stored = ThreadHistory.objects.get().fold
        if is_fenced:
            assert claimed is None
            assert '"a0"' in stored
            return
        assert claimed is not None
        assert (claimed.claim.head, claimed.opening is None) == (1, False)
        assert types_of(run) == ["RUN_STARTED"]
        assert '"a0"' not in stored
        # The answer was lost, and the worker tries again.
        again = claims.of_thread(run, generation)
        assert again is not None
        assert again.claim == claimed.claim
        assert (again.opening, again.intake is None) == (None, False)
        assert types_of(run) == ["RUN_STARTED"]
