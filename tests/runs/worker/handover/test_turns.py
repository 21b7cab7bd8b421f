"""A start in a thread that exists is handed over as well; its agent gets the thread's history."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from django.db import transaction

from agui_host.backends.postgres.bridge import db
from agui_host.teams.limits import LimitReached
from agui_host.teams.models import TeamLimits
from events.writer import JournalWriter
from runs.lifecycle import history, lifecycle
from runs.lifecycle.handover import handed, links
from runs.lifecycle.steering import messages
from runs.models import Run, RunMessage, TeamUsage
from runs.worker.taking import registration, take
from runs.worker.taking.hands import MOST
from tests.cast import Cast, Register, fresh, log_of, start, types_of
from tests.runs import asking
from tests.runs.conversing import user
from tests.runs.jobs import a_worker
from tests.runs.worker.handover.test_hands import (
    Losing,
    link_of_worker,
    linked,
    numbers_of_rows,
    statuses,
    until_credits,
)
from tests.runs.worker.handover.turns import HEARD, first_turn, turn, with_a_link
from tests.runs.worker.test_taking import until_ended, waiting_agent, working
from tests.together import together

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("only_notifications"),
]


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
        left = (await db(history.current, run.thread_id)).messages
        assert [message["id"] for message in left][:1] == ["u0"]
        assert "a0" not in {message["id"] for message in left}

    async def test_an_edited_message_leaves_behind_what_followed(
        self, cast: Cast, hears: list[list[str]], writer: JournalWriter
    ) -> None:
        await db(first_turn, cast.alice)
        edit = {"messages": [user("Was it?", "u0")], "forwardedProps": {"edit": "u0"}}
        async with working(writer) as runs, linked(runs):
            run = await db(partial(turn, cast.alice, **edit))
            assert run.worker == runs.id
            await until_ended(run)
        assert hears == [["u0"]]
        left = (await db(history.current, run.thread_id)).messages
        assert [message["content"] for message in left] == ["Was it?", "yes"]
        assert "a0" not in {message["id"] for message in left}

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
