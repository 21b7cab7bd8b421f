"""A start in a thread that exists is handed over as well; its agent gets the thread's history."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import TeamLimits
from events import journal
from events.writer import JournalWriter
from runs.lifecycle import history, lifecycle
from runs.lifecycle.handover import handed, links
from runs.lifecycle.statements import claims
from runs.lifecycle.steering import messages
from runs.models import Run, RunMessage, TeamUsage, ThreadHistory, Worker
from runs.worker import reaper
from runs.worker.executor import Stop, execute
from runs.worker.taking import loop, registration, take
from runs.worker.taking.hands import MOST
from tests.cast import Actor, Cast, Register, fresh, log_of, start, types_of
from tests.runs import asking
from tests.runs.conversing import tell, text, user
from tests.runs.jobs import a_worker, gone
from tests.runs.worker.handover.test_hands import (
    Losing,
    link_of_worker,
    linked,
    numbers_of_rows,
    statuses,
    until_credits,
)
from tests.runs.worker.test_taking import NEVER, until_ended, waiting_agent, working
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

HEARD = ["u0", "a0", "u1"]
"""The ids of the messages that the agent of a second turn is given."""


@pytest.fixture(autouse=True)
def _only_notifications(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run waits for a poll. The first start of a team ever is not handed over."""
    TeamUsage.objects.create(team=cast.team)
    monkeypatch.setattr(loop, "POLL", NEVER)


@pytest.fixture
def hears(register: Register) -> list[list[str]]:
    """What each run of the agent ``listens`` was given: the ids of its messages."""
    heard: list[list[str]] = []

    async def listens(ctx: Any) -> AsyncIterator[str]:
        heard.append([message["id"] for message in ctx.messages])
        yield "yes"

    register("listens", listens, on_busy="enqueue")
    return heard


def first_turn(actor: Actor, thread: str = "t") -> None:
    """A thread with a question of its user and an answer."""
    answer = [*text("a0", "yes"), {"type": "TEXT_MESSAGE_END", "messageId": "a0"}]
    tell(actor, *answer, threadId=thread, messages=[user("Is it?", "u0")])


def turn(actor: Actor, agent: str = "listens", **body: Any) -> Run:
    """The next turn of the thread, by which its user sends all that they have said."""
    body = {"threadId": "t", "messages": [user("Is it?", "u0"), user("Really?", "u1")], **body}
    return start(actor, Agent.objects.get(team=actor.team, slug=agent), **body)


async def losing(monkeypatch: pytest.MonkeyPatch) -> Losing:
    """From now on no line arrives."""
    lost = Losing(await db(link_of_worker))
    monkeypatch.setattr(links, "links", lambda: lost)
    return lost


def with_a_link(worker: int) -> None:
    """Starts can name this worker."""
    Worker.objects.filter(pk=worker).update(link=uuid4())


def claimed_and_put_back(cast: Cast, worker: int, **body: Any) -> Run:
    """A turn that its start has claimed for this worker, which has put it back unheard."""
    with_a_link(worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "links", lambda: Losing(link_of_worker()))
        run = turn(cast.alice, **body)
    assert (run.worker, fresh(run).status) == (worker, "running")
    assert take.put_back(worker, 1, [], []) == [run.pk]
    return run


class TestAHand:
    async def test_it_is_the_workers_with_the_start(
        self,
        cast: Cast,
        hears: list[list[str]],
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def takes(*args: Any) -> list[take.Taken]:
            return []

        await db(first_turn, cast.alice)
        monkeypatch.setattr(take, "take", takes)
        async with working(writer) as runs, linked(runs) as ours:
            for number in range(1, 3 * MOST):  # each use of a credit gives another one
                asked = [user("?", f"u{n}") for n in range(number + 1)]
                run = await db(partial(turn, cast.alice, messages=asked))
                assert run.worker == runs.id
                (row,) = await until_ended(run)
                assert (row.status, row.due_at, row.queued_ms) == ("succeeded", None, 0)
                assert row.started_at == row.created_at
                types = await db(types_of, run)
                assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1
                assert await db(statuses, run) == ["queued", "running", "succeeded"]
                await until_credits(ours, MOST)
        assert hears[0] == HEARD
        users = [[name for name in heard if name.startswith("u")] for heard in hears]
        assert users == [[f"u{n}" for n in range(number + 1)] for number in range(1, 3 * MOST)]
        assert all(
            len(heard) == 2 * len(asked) - 1 for heard, asked in zip(hears, users, strict=True)
        )

    async def test_the_rows_are_those_of_a_run_that_was_taken(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        made = []
        for thread in ("a", "b"):
            await db(first_turn, cast.alice, thread)
        async with working(writer) as runs:
            for thread, is_handed in (("a", False), ("b", True)):
                async with linked(runs) as ours:
                    credits_ = [] if is_handed else [ours.credit() for _ in range(MOST)]
                    before = await db(numbers_of_rows)
                    run = await db(partial(turn, cast.alice, threadId=thread))
                    assert (run.worker is not None) == is_handed
                    await until_ended(run)
                    after = await db(numbers_of_rows)
                    for credit in credits_:
                        assert credit is not None
                        with credit:
                            pass
                made.append({table: after[table] - before[table] for table in after})
        assert made[0] == made[1]
        assert hears == [HEARD, HEARD]

    async def test_the_answers_to_questions_reach_the_agent(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        brought: list[Any] = []

        async def resumes(ctx: Any) -> AsyncIterator[str]:
            brought.append([entry["interruptId"] for entry in ctx.resume])
            yield "yes"

        agent = await db(register, "resumes", resumes)
        await db(asking.asking, cast.alice, "q")
        async with working(writer) as runs, linked(runs):
            answers = partial(start, cast.alice, agent, threadId="t", resume=[asking.yes("q")])
            run = await db(answers)
            assert run.worker == runs.id
            assert [row.status for row in await until_ended(run)] == ["succeeded"]
        assert brought == [["q"]]
        assert await db(asking.standing) == {"q": "answered"}

    async def test_a_regenerate_leaves_the_answer_behind(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs):
            run = await db(partial(turn, cast.alice, messages=[user("Is it?", "u0")]))
            assert run.worker == runs.id
            await until_ended(run)
        assert hears == [["u0"]]
        kept = (await db(history.current, run.thread_id)).messages
        assert [message["id"] for message in kept][:1] == ["u0"]
        assert "a0" not in {message["id"] for message in kept}

    async def test_messages_that_no_agent_has_read_come_with_it(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        def left_unread() -> None:
            run = start(cast.alice, threadId="t", messages=[user("Is it?", "u0")])
            claimed = lifecycle.claim(run.pk)
            assert claimed is not None
            messages.send(run, "m", "Only the last year.", cast.alice.principal)
            asking.finish(claimed)

        await db(left_unread)
        async with working(writer) as runs, linked(runs):
            run = await db(turn, cast.alice)
            assert run.worker == runs.id
            await until_ended(run)
        assert hears == [["u0", "m", "u1"]]
        row = await db(RunMessage.objects.of_any_team().get)
        assert row.carried_by_id == run.pk
        (begun, *_) = await db(log_of, run)
        assert [message["id"] for message in begun["input"]["messages"]] == ["m", "u1"]


class TestWhatIsNotHandedOver:
    """Such a start leaves its credit, and takes the queue."""

    async def queued(self, cast: Cast, writer: JournalWriter, begin: Callable[[], Run]) -> Run:
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            run = await db(begin)
            assert (run.worker, ours.credits) == (None, MOST)
            await until_ended(run)
        return run

    async def test_a_start_in_a_transaction(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        def inside() -> Run:
            with transaction.atomic():
                return turn(cast.alice)

        await self.queued(cast, writer, inside)
        assert hears == [HEARD]

    async def test_a_run_that_would_only_ask_again(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        await db(asking.asking, cast.alice, "q")
        async with working(writer) as runs, linked(runs) as ours:
            run = await db(turn, cast.alice)
            assert (run.worker, ours.credits) == (None, MOST)
            assert [row.status for row in await until_ended(run)] == ["interrupted"]
        assert hears == []

    async def test_a_run_that_waits_for_another_of_its_thread(
        self, cast: Cast, register: Register, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        agent, more = await db(waiting_agent, register)
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            first = await db(turn, cast.alice, agent.slug)
            assert first.worker == runs.id
            await until_credits(ours, MOST)
            second = await db(partial(turn, cast.alice, messages=[user("And?", "u2")]))
            assert (second.worker, second.stamp, ours.credits) == (None, None, MOST)
            more.set()
            rows = await until_ended(first, second)
        assert rows[0].ended_at < rows[1].started_at
        (heard,) = hears
        assert [name for name in heard if name in ("u0", "a0", "u1", "u2")] == [*HEARD, "u2"]

    async def test_a_team_without_room(
        self, cast: Cast, register: Register, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        agent, more = await db(waiting_agent, register)
        await db(partial(TeamLimits.objects.create, team=cast.team, concurrent_runs=1))
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            other = await db(partial(start, cast.alice, agent, threadId="other"))
            run = await db(turn, cast.alice)
            assert (run.worker, run.stamp) == (None, None)
            more.set()
            await until_ended(other, run)
            await until_credits(ours, MOST)
        assert hears == [HEARD]

    async def test_a_refused_start(self, cast: Cast, writer: JournalWriter) -> None:
        def full() -> None:
            first_turn(cast.alice)
            TeamUsage.objects.filter(team=cast.team).update(stored_bytes=2**60)
            TeamLimits.objects.create(team=cast.team, stored_bytes=1)

        await db(full)
        async with working(writer) as runs, linked(runs) as ours:
            with pytest.raises(LimitReached):
                await db(partial(start, cast.alice, threadId="t"))
            assert ours.credits == MOST

    async def test_a_run_that_is_fed(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        fed = await db(partial(register, "fed", "", kind="external"))
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            run = await db(partial(start, cast.alice, fed, threadId="t"))
            assert (run.worker, ours.credits) == (None, MOST)


def test_two_starts_at_once_make_one_active_run(
    cast: Cast, hears: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a credit; the thread's lock decides which run is first, and only that is handed."""
    with_a_link(worker := a_worker())
    for number in range(8):
        thread = f"t{number}"
        first_turn(cast.alice, thread)
        assert registration.beat(worker, None, 1, draining=False)
        lost = Losing(link_of_worker())
        with monkeypatch.context() as patch:
            patch.setattr(links, "links", lambda lost=lost: lost)
            posts = [
                partial(turn, cast.alice, threadId=thread, messages=[user("?", name)])
                for name in ("x", "y")
            ]
            made = together(*posts)
        rows = sorted((fresh(run) for run in made if isinstance(run, Run)), key=lambda row: row.pk)
        assert [(row.status, row.worker) for row in rows] == [
            ("running", worker), ("queued", None)
        ]  # fmt: skip
        assert rows[1].stamp is None
        assert [handed.read(line).run for line in lost.lost] == [rows[0].pk]
        for row in rows:
            lifecycle.cancel(row)
            lifecycle.end_lost(row)


class TestLosses:
    async def test_a_line_that_never_comes(
        self,
        cast: Cast,
        hears: list[list[str]],
        writer: JournalWriter,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(loop, "LOOK", 0.1)
        monkeypatch.setattr(loop, "POLL", 0.1)
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
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(loop, "POLL", 0.1)  # The notification can be for the other worker.
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
        monkeypatch.setattr(loop, "LOOK", 0.1)
        monkeypatch.setattr(loop, "POLL", 0.1)
        await db(first_turn, cast.alice)
        async with working(writer) as runs, linked(runs) as ours:
            (link,) = ours.all
            lost = await losing(monkeypatch)
            run = await db(turn, cast.alice)
            await until_ended(run)
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
                while (row := await db(fresh, run)).due_at is None and row.ended_at is None:
                    await asyncio.sleep(0.01)
        assert len(hears) <= 1

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
        given = claimed.prepared.input["messages"]
        assert [message["id"] for message in given] == HEARD

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
    """What a worker reads of a run that its start has claimed."""

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
