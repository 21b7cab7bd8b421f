"""A start hands its run to a worker of its machine, which begins it once, whatever is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.input import run_agent_input
from agui_host.runtimes.models import Agent
from agui_host.teams.limits import BudgetExceeded
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.lifecycle.handover import handed, links
from runs.lifecycle.handover.links import Credit, Link, Links
from runs.lifecycle.statements.agents import AgentChoice
from runs.models import Budget, BudgetScope, FeedEntry, Run, TeamUsage, Unit, Webhook, Worker
from runs.worker.taking import loop, take
from runs.worker.taking.hands import MOST
from runs.worker.taking.loop import Runs
from tests.cast import Actor, Cast, Register, fresh, types_of
from tests.runs.worker.test_taking import NEVER, until_ended, until_here, waiting_agent, working

pytestmark = pytest.mark.django_db(transaction=True)


def begin(actor: Actor, agent: str = "", **body: Any) -> Run:
    """Start in a fresh thread, as POST /agui does."""
    choice = AgentChoice(agent, or_default=not agent, only=None)
    request = run_agent_input.parse(body)
    run = lifecycle.start_at_once(actor.team, choice, request, started_by=actor.principal)
    assert run is not None
    return run


@asynccontextmanager
async def linked(*workers: Runs) -> AsyncIterator[Links]:
    """The links of a web process in this one, with all credits of these workers."""
    ours = links.links()
    keeping = asyncio.create_task(ours.keep())
    try:
        await until_credits(ours, MOST * len(workers))
        yield ours
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


async def until_credits(ours: Links, number: int) -> None:
    async with asyncio.timeout(30):
        while ours.credits != number:
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _only_notifications(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run waits for a poll. The first start of a team ever is not handed over."""
    TeamUsage.objects.create(team=cast.team)
    monkeypatch.setattr(loop, "POLL", NEVER)


class Losing(Links):
    """Links whose lines never arrive: their web process dies after its commit."""

    def __init__(self, to: UUID) -> None:
        super().__init__()
        self.to, self.lost = to, list[bytes]()

    def credit(self) -> Credit:
        losing = self

        class Lost(Link):
            def send(self, line: bytes) -> None:
                losing.lost.append(line)

        link = Lost(str(self.to), None)  # type: ignore[arg-type]
        return Credit(link)


def link_of_worker() -> UUID:
    link = Worker.objects.get().link
    assert link is not None
    return link


def numbers_of_rows() -> dict[str, int]:
    """The rows of each of our tables that belong to runs and teams."""
    tables = [name for name in connection.introspection.table_names() if name != "runs_worker"]
    ours = [name for name in tables if name.startswith(("runs_", "events_", "teams_"))]
    counts = {}
    with connection.cursor() as cursor:
        for name in ours:
            cursor.execute(f'select count(*) from "{name}"')  # noqa: S608
            counts[name] = int(cursor.fetchone()[0])
    return counts


def spent_budget(cast: Cast) -> None:
    """A budget of the team without room for a token."""
    Budget.objects.create(
        team=cast.team, scope=BudgetScope.TEAM, of="acme", key=str(cast.team.pk),
        unit=Unit.TOKENS, max=0, reserve=0, created_by="x",
    )  # fmt: skip


def statuses(run: Run) -> list[str]:
    return list(FeedEntry.objects.filter(run=run).order_by("id").values_list("status", flat=True))


class TestAHand:
    async def test_it_is_the_workers_with_the_start(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def takes(*args: Any) -> list[take.Taken]:
            return []

        monkeypatch.setattr(take, "take", takes)
        async with working(writer) as runs, linked(runs) as ours:
            for _ in range(3 * MOST):  # each use of a credit gives another one
                run = await db(begin, cast.alice, messages=[])
                assert run.worker == runs.id
                (row,) = await until_ended(run)
                assert (row.status, row.due_at, row.queued_ms) == ("succeeded", None, 0)
                types = await db(types_of, run)
                assert types.count("RUN_STARTED") == types.count("RUN_FINISHED") == 1
                assert await db(statuses, run) == ["queued", "running", "succeeded"]
                await until_credits(ours, MOST)

    async def test_a_worker_that_does_not_know_the_agent_reads_it(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        agent, more = await db(waiting_agent, register)
        async with working(writer) as runs, linked(runs):
            run = await db(begin, cast.alice, agent.slug)
            assert run.worker == runs.id
            await until_here(runs, run)
            more.set()
            assert [row.status for row in await until_ended(run)] == ["succeeded"]

    async def test_without_a_credit_it_is_due(self, cast: Cast, writer: JournalWriter) -> None:
        async with working(writer) as runs, linked(runs) as ours:
            credits_ = [ours.credit() for _ in range(MOST)]
            assert None not in credits_
            assert ours.credit() is None
            run = await db(begin, cast.alice)
            assert run.worker is None
            assert [row.worker for row in await until_ended(run)] == [runs.id]
            for credit in credits_:
                assert credit is not None
                with credit:
                    pass  # unused, so it is given back
            assert ours.credits == MOST


class TestTheRows:
    """A handed run is made as running; what follows a start must not depend on that."""

    async def test_they_are_those_of_a_run_that_was_taken(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        events = ["thread.created", "run.started", "run.succeeded"]
        hook = {"url": "https://x.example/", "created_by": "x", "creator": "x"}
        await db(partial(Webhook.objects.create, team=cast.team, events=events, **hook))
        made = []
        async with working(writer) as runs:
            await until_ended(await db(begin, cast.alice))  # the first ever makes more rows
            for is_handed in (False, True):
                async with linked(runs) if is_handed else nullcontext():
                    before = await db(numbers_of_rows)
                    run = await db(begin, cast.alice)
                    assert (run.worker is not None) == is_handed
                    await until_ended(run)
                    after = await db(numbers_of_rows)
                made.append({table: after[table] - before[table] for table in after})
        assert made[0] == made[1]
        assert made[1]["runs_webhookdelivery"] == len(events)
        assert made[1]["runs_feedentry"] == 3

    async def test_a_spent_budget_refuses_it(self, cast: Cast, writer: JournalWriter) -> None:
        async with working(writer) as runs, linked(runs) as ours:
            await until_ended(await db(begin, cast.alice))
            await until_credits(ours, MOST)
            await db(spent_budget, cast)
            with pytest.raises(BudgetExceeded):
                await db(begin, cast.alice)
            assert ours.credits == MOST


class TestWhatIsNotHandedOver:
    """Such a start leaves its credit, and takes the queue."""

    async def not_handed(self, runs: Runs, ours: Links, *starts: Any) -> None:
        for each in starts:
            run = await db(each)
            assert (run.worker, ours.credits) == (None, MOST)
            await until_ended(run)

    async def test_a_long_input(self, cast: Cast, writer: JournalWriter) -> None:
        text = [{"id": "m", "role": "user", "content": "x" * handed.MOST_INPUT}]
        async with working(writer) as runs, linked(runs) as ours:
            await self.not_handed(runs, ours, partial(begin, cast.alice, messages=text))

    async def test_a_start_in_a_transaction(self, cast: Cast, writer: JournalWriter) -> None:
        def inside() -> Run:
            with transaction.atomic():
                return begin(cast.alice, threadId="t")

        async with working(writer) as runs, linked(runs) as ours:
            await self.not_handed(runs, ours, inside)

    async def test_a_queue_that_the_worker_does_not_serve(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        other = await db(register, "other", "x")
        await db(partial(Agent.objects.filter(pk=other.pk).update, queue="gpu"))
        async with working(writer) as runs, linked(runs) as ours:
            run = await db(begin, cast.alice, "other")
            assert (run.worker, ours.credits) == (None, MOST)

    @pytest.mark.parametrize("change", [{"draining": True}, {"link": uuid4()}])
    async def test_a_worker_that_leaves_or_is_of_another_database(
        self, cast: Cast, writer: JournalWriter, change: dict[str, Any]
    ) -> None:
        async with working(writer) as runs, linked(runs) as ours:
            await db(partial(Worker.objects.update, **change))
            await self.not_handed(runs, ours, partial(begin, cast.alice))

    async def test_others_that_are_due_go_first(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        other = await db(register, "other", "x")
        await db(partial(Agent.objects.filter(pk=other.pk).update, queue="gpu"))
        await db(begin, cast.alice, "other")
        async with working(writer) as runs, linked(runs) as ours:
            await self.not_handed(runs, ours, partial(begin, cast.alice))

    async def test_a_full_worker_puts_it_back(
        self, cast: Cast, register: Register, writer: JournalWriter
    ) -> None:
        agent, more = await db(waiting_agent, register)
        async with working(writer, concurrency=1) as runs, linked(runs):
            first, second = [await db(begin, cast.alice, agent.slug) for _ in range(2)]
            assert first.worker == second.worker == runs.id, "both were handed over"
            async with asyncio.timeout(30):
                while (await db(fresh, second)).due_at is None:
                    await asyncio.sleep(0.01)
            more.set()
            rows = await until_ended(first, second)
        assert [row.status for row in rows] == ["succeeded"] * 2
        assert (await db(types_of, second)).count("RUN_STARTED") == 1


class TestLosses:
    async def test_a_line_that_never_comes(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "LOOK", 0.1)
        monkeypatch.setattr(loop, "POLL", 0.1)
        async with working(writer) as runs:
            lost = Losing(await db(link_of_worker))
            monkeypatch.setattr(links, "links", lambda: lost)
            run = await db(begin, cast.alice)
            assert (run.worker, len(lost.lost)) == (runs.id, 1), "the line was lost"
            (row,) = await until_ended(run)
        assert row.status == "succeeded"
        assert (await db(types_of, run)).count("RUN_STARTED") == 1

    async def test_a_worker_that_leaves_puts_it_back(
        self, cast: Cast, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first_search, put_back = asyncio.Event(), take.put_back
        loop_of_test = asyncio.get_running_loop()

        def search(*args: Any) -> list[UUID]:
            ids = put_back(*args)
            loop_of_test.call_soon_threadsafe(first_search.set)
            return ids

        monkeypatch.setattr(loop, "LOOK", NEVER)
        monkeypatch.setattr(take, "put_back", search)
        async with working(writer):
            await first_search.wait()  # The run that it found would begin before the worker leaves.
            lost = Losing(await db(link_of_worker))
            monkeypatch.setattr(links, "links", lambda: lost)
            run = await db(begin, cast.alice)
            assert len(lost.lost) == 1
        row = await db(fresh, run)
        assert (row.status, row.worker, row.due_at is None) == ("running", None, False)
        async with working(writer):
            assert [row.status for row in await until_ended(run)] == ["succeeded"]

    async def test_a_late_line_of_a_run_that_was_put_back(
        self, cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The search puts the run back and a take begins it; then its line comes."""
        monkeypatch.setattr(loop, "LOOK", 0.1)
        monkeypatch.setattr(loop, "POLL", 0.1)
        agent, more = await db(waiting_agent, register)
        async with working(writer) as runs, linked(runs) as ours:
            (link,) = ours.all
            lost = Losing(UUID(link.name))
            monkeypatch.setattr(links, "links", lambda: lost)
            run = await db(begin, cast.alice, agent.slug)
            await until_here(runs, run)
            more.set()
            await until_ended(run)
            await until_here(runs)  # its task ends after its row
            link.send(lost.lost[0])
            await until_credits(ours, MOST + 1)  # it was read
            assert runs.here == set()
            assert (await db(fresh, run)).attempt == 1
        assert (await db(types_of, run)).count("RUN_STARTED") == 1

    async def test_a_worker_that_was_given_up_begins_nothing(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        async with working(writer, lives=lambda: False) as runs, linked(runs) as ours:
            run = await db(begin, cast.alice)
            assert run.worker == runs.id
            await until_credits(ours, MOST)
            async with asyncio.timeout(30):
                while (row := await db(fresh, run)).due_at is None and row.ended_at is None:
                    await asyncio.sleep(0.01)
        assert (await db(types_of, run)).count("RUN_STARTED") <= 1
