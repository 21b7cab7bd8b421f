"""A row that one team's transaction holds delays no other team's events, and ends no run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from django.db.models import QuerySet

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import TeamLimits
from events.follow import follow
from events.models import Journal
from events.writer import JournalWriter
from runs.lifecycle import admission, lifecycle
from runs.lifecycle.resume import Answer
from runs.models import EndedRun, Interrupt, Run, Status, TeamUsage
from tests.cast import Cast, LiveRun, fresh, log_of, start, types_of
from tests.together import frozen

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = {
    "the team's usage": lambda run: TeamUsage.objects.filter(team=run.team_id),
    "the run": lambda run: Run.objects.filter(pk=run.pk),
    "its journal": lambda run: Journal.objects.filter(pk=run.pk),
}


async def delivered(run: Run) -> AsyncIterator[int]:
    """How many events a reader of the run has seen, after each delivery."""
    count = 0
    async with aclosing(follow(run.pk)) as pages:
        async for frames in pages:
            count += len(frames.payloads) if frames else 0
            yield count


async def until(counts: AsyncIterator[int], number: int) -> None:
    async for count in counts:
        if count >= number:
            return


@pytest.mark.parametrize("table", ROWS)
async def test_a_locked_row_of_one_team_holds_up_nobody_else(
    cast: Cast, writer: JournalWriter, table: str
) -> None:
    """Of the team's own runs only the one that needs the row waits; then it ends once."""
    await db(TeamLimits.objects.create, team=cast.team, concurrent_runs=1)
    ours = await LiveRun.begin(await db(start, cast.alice), writer)
    following = await db(start, cast.alice)
    theirs = await LiveRun.begin(await db(start, cast.charlie), writer)
    rows: QuerySet[object] = ROWS[table](ours.run)
    reader = delivered(theirs.run)
    with frozen(rows) as let_go:
        ending = asyncio.create_task(ours.end())
        for number in range(2, 22):
            await asyncio.wait_for(theirs.say("on"), 5)
            await asyncio.wait_for(until(reader, number), 5)
        if table == "the team's usage":
            await asyncio.wait_for(ending, 5)
            assert (await db(fresh, ours.run)).status == Status.SUCCEEDED
        else:
            assert not ending.done()
            assert writer.is_blocked(ours.run.pk), "the fault did not fire"
        await theirs.end()
        let_go.set()
        await asyncio.wait_for(ending, 10)
    await reader.aclose()  # type: ignore[attr-defined]
    assert (await db(types_of, ours.run)) == ["RUN_STARTED", "RUN_FINISHED"]
    assert (await db(fresh, theirs.run)).status == Status.SUCCEEDED
    async with asyncio.timeout(10):
        while (await db(fresh, following)).stamp is None:
            if table == "the team's usage":  # its lock was held for too long, perhaps
                await db(admission.sweep)
            await asyncio.sleep(0.01)
    await db(admission.sweep)  # or the team's next start
    assert (await db(EndedRun.objects.filter(team=cast.team).count)) == 0


async def test_ends_of_a_team_whose_usage_is_locked_cost_others_nothing(
    cast: Cast, writer: JournalWriter
) -> None:
    """Each of these ends would wait for that lock, and B's events with it: 250 ms each time."""
    ends = 30
    ours = [await LiveRun.begin(await db(start, cast.alice), writer) for _ in range(ends)]
    theirs = await LiveRun.begin(await db(start, cast.charlie), writer)
    with frozen(TeamUsage.objects.filter(team=cast.team)):
        async with asyncio.timeout(ends * 0.25):
            for live in ours:
                await asyncio.gather(live.end(), theirs.say("on"))
        assert await db(EndedRun.objects.filter(team=cast.team).count) == ends
    await theirs.end()
    # The sweep, or the writer's own admission that was waiting for the lock, counts them out.
    async with asyncio.timeout(30):
        while await db(EndedRun.objects.filter(team=cast.team).count):
            await db(admission.sweep)


async def test_a_locked_question_holds_up_nobody_else(cast: Cast, writer: JournalWriter) -> None:
    """The answer to a question is on its way in a frozen process; the run that brought it fails."""
    asking = await LiveRun.begin(await db(start, cast.alice, threadId="t"), writer)
    await asking.ask("q")
    answer: Answer = {"interruptId": "q", "status": "resolved"}
    run = await db(lambda: start(cast.alice, threadId="t", resume=[answer]))
    answering = await LiveRun.begin(run, writer)
    theirs = await LiveRun.begin(await db(start, cast.charlie), writer)
    with frozen(Interrupt.objects.filter(interrupt_id="q")) as let_go:
        ending = asyncio.create_task(answering.fail())
        for _ in range(10):
            await asyncio.wait_for(theirs.say("on"), 5)
        assert writer.is_blocked(run.pk), "the fault did not fire"
        let_go.set()
        await asyncio.wait_for(ending, 10)
    assert (await db(fresh, run)).status == Status.FAILED
    assert (await db(Interrupt.objects.get, interrupt_id="q")).status == "open"
    await theirs.end()


async def test_a_blocked_run_goes_on_in_order(cast: Cast, writer: JournalWriter) -> None:
    """What it appends meanwhile waits behind what was blocked."""
    live = await LiveRun.begin(await db(start, cast.alice), writer)
    with frozen(Journal.objects.filter(pk=live.run.pk)) as let_go:
        saying = [asyncio.create_task(live.say(str(number))) for number in range(3)]
        while not writer.is_blocked(live.run.pk):
            await asyncio.sleep(0)
        saying.append(asyncio.create_task(live.say("3")))
        await asyncio.sleep(0)
        let_go.set()
        await asyncio.wait_for(asyncio.gather(*saying), 10)
    await live.end()
    log = await db(lambda: [event.get("value") for event in log_of(live.run)])
    assert log == [None, "0", "1", "2", "3", None]


async def test_a_process_that_dies_behind_the_commit_leaves_it_to_the_sweep(
    cast: Cast, writer: JournalWriter
) -> None:
    """The end is stored, and nobody was admitted for it yet."""
    await db(TeamLimits.objects.create, team=cast.team, concurrent_runs=1)
    first, second = [await db(start, cast.alice) for _ in range(2)]
    await db(lifecycle.claim, first.pk)
    await db(lifecycle.finish, first.pk, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    assert (await db(fresh, second)).stamp is None
    assert await db(admission.sweep) == 1
    assert (await db(fresh, second)).stamp is not None
