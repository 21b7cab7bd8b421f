"""Runs that runs start: of the same team, in threads of their own, ended before their parent."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.runtimes.kinds import python
from agui_host.teams.models import TeamLimits
from events.models import Event
from events.writer import JournalWriter
from runs.access import threads
from runs.access.usage import limits
from runs.lifecycle import admission, lifecycle
from runs.lifecycle.deletion import erasure
from runs.models import Run, Thread
from runs.worker import reaper
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, log_of, perform, start
from tests.runs.jobs import a_worker, give, gone
from tests.runs.playing import Play, settled

pytestmark = pytest.mark.django_db(transaction=True)

HELLO = {"messages": [{"id": "1", "role": "user", "content": "hello"}]}


async def children_of(run: Run) -> list[Run]:
    def read() -> list[Run]:
        rows = Run.objects.filter(parent=run).select_related("thread", "journal", "agent")
        return list(rows.order_by("pk"))

    return await db(read)


async def test_a_parent_gets_its_childs_events_and_its_end(play: Play) -> None:
    child_events: list[dict[str, Any]] = []

    async def parent(ctx: Any) -> str:
        async with ctx.spawn("echo", HELLO) as child:
            child_events.extend([event async for event in child])
            assert child.agent == "echo"
            return f"{child.id} {child.thread_id}"

    run, log = await play(parent)
    (child,) = await children_of(run)
    assert run.status == child.status == "succeeded"
    assert child_events == await db(log_of, child)
    assert f"{child.pk} {child.thread.thread_id}" in str(log)
    assert child.thread_id != run.thread_id
    assert child.parent_run_id == child_events[0]["parentRunId"] == run.run_id
    assert (child.started_by, child.team_id) == (run.started_by, run.team_id)
    assert child.ended_at is not None
    assert run.ended_at is not None
    assert child.ended_at < run.ended_at


async def test_a_parent_gets_long_events(register: Register, play: Play) -> None:
    """They are read in a thread."""
    long = [*range(5_000), "ü"]

    async def child(ctx: Any) -> None:
        ctx.state["long"] = long

    async def parent(ctx: Any) -> str:
        async with ctx.spawn("child", HELLO) as child:
            return str([event.get("snapshot") or event.get("delta") async for event in child])

    await db(register, "child", child)
    run, log = await play(parent)
    assert run.status == "succeeded"
    assert "4999, 'ü'" in str(log).replace("\\", "")


async def test_a_child_is_of_the_team_and_goes_on_only_where_the_parent_was(
    cast: Cast, register: Register, play: Play
) -> None:
    await db(start, cast.alice, threadId="somebody's")
    refusals: list[str] = []

    async def parent(ctx: Any) -> None:
        for agent, body in (("nobody", {}), ("echo", {"threadId": "somebody's"}),
                            ("echo", {"threadId": "t"}), ("echo", {"messages": 7})):  # fmt: skip
            with pytest.raises(RunFailed) as refused:
                async with ctx.spawn(agent, body):
                    pass
            refusals.append(str(refused.value))
        async with ctx.spawn("echo", HELLO) as first:
            await first.end()
        async with ctx.spawn("echo", {"threadId": first.thread_id, **HELLO}) as second:
            assert (await second.end())["type"] == "RUN_FINISHED"
        assert second.thread_id == first.thread_id

    run, _ = await play(parent)
    assert run.status == "succeeded"
    assert refusals[0] == "This team has no agent 'nobody'."
    assert refusals[1] == refusals[2] == "This thread did not start that one."
    assert "messages" in refusals[3]
    assert len(await children_of(run)) == 2


async def test_parents_that_wait_for_children_do_not_block_their_team(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """One run at a time for the team: children live in their parent's place."""
    during: list[int | None] = []

    async def parent(ctx: Any) -> None:
        async with ctx.spawn("echo", HELLO) as one, ctx.spawn("echo", HELLO) as two:
            await one.end()
            await two.end()
        uses = {use.name: use.used for use in await db(limits.of, cast.team)}
        during.append(uses["concurrent_runs"])

    def limited() -> tuple[Run, Run]:
        TeamLimits.objects.create(team=cast.team, concurrent_runs=1)
        row = register("parent", parent)
        return start(cast.alice, row), start(cast.alice, row)

    first, second = await db(limited)
    assert (await db(fresh, second)).stamp is None
    assert (await perform(first, writer)).status == "succeeded"
    assert len(await children_of(first)) == 2
    assert during == [1]
    async with asyncio.timeout(10):  # the place is free again
        while (await db(fresh, second)).stamp is None:
            await asyncio.sleep(0.01)


async def test_other_limits_count_for_children(cast: Cast, register: Register, play: Play) -> None:
    async def parent(ctx: Any) -> None:
        async with ctx.spawn("echo", HELLO):
            pass

    def limited() -> None:
        TeamLimits.objects.create(team=cast.team, runs_per_minute=1)

    await db(limited)
    run, _ = await play(parent)
    assert run.error_code == "limit"
    assert "runs_per_minute" in run.error_message


async def test_runs_that_start_themselves_come_to_an_end(play: Play) -> None:
    async def parent(ctx: Any) -> None:
        async with ctx.spawn("subject", {}) as child:
            end = await child.end()
        if end["type"] == "RUN_ERROR":
            raise RunFailed(RunErrorCode(end["code"]), end["message"])

    run, _ = await play(parent)
    assert run.error_code == "limit"
    assert await db(Run.objects.count) == 5


class Stopping:
    """A parent, its child, and the worker's task; the child waits for ever."""

    def __init__(self, run: Run, task: "asyncio.Task[None]", child: Run) -> None:
        self.run, self.task, self.child = run, task, child

    async def statuses(self) -> tuple[Run, Run]:
        (parent, _), (child, _) = [
            await settled(await db(fresh, run)) for run in (self.run, self.child)
        ]
        return parent, child


@pytest.fixture
async def stopping(
    cast: Cast, register: Register, writer: JournalWriter, settings: Settings
) -> Callable[..., Any]:
    settings.AGUI_CANCEL_GRACE = 5.0

    async def waits(ctx: Any) -> Any:
        yield {"type": "CUSTOM", "name": "waiting", "value": 1}
        await asyncio.Event().wait()

    async def begun(parent: Any, why: Stop = Stop.CANCEL, **fields: Any) -> Stopping:
        await db(register, "waits", waits)
        run = await db(start, cast.alice, await db(register, "parent", parent, **fields))
        claimed = await db(lifecycle.claim, run.pk)
        assert claimed
        task = asyncio.create_task(execute(claimed, writer, lambda: why))
        while not await db(Event.objects.filter(payload__contains='"waiting"').exists):
            assert not task.done()
        (child,) = await children_of(run)
        return Stopping(run, task, child)

    return begun


async def waiting(ctx: Any) -> None:
    async with ctx.spawn("waits", {}) as child:
        await child.end()


async def test_a_cancel_of_the_parent_reaches_the_child(stopping: Callable[..., Any]) -> None:
    begun = await stopping(waiting)
    await cancelled(begun)


async def test_also_where_the_parent_swallows_it(
    stopping: Callable[..., Any], settings: Settings
) -> None:
    freed = asyncio.Event()

    async def careless(ctx: Any) -> None:
        async with ctx.spawn("waits", {}):
            while not freed.is_set():
                try:
                    await freed.wait()
                except asyncio.CancelledError:
                    continue

    begun = await stopping(careless)
    settings.AGUI_CANCEL_GRACE = 0.5
    await cancelled(begun)
    freed.set()
    await asyncio.gather(*python._left_behind, return_exceptions=True)


async def cancelled(begun: Stopping) -> None:
    """Cancel the parent: both end, the child first."""
    begun.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(begun.task, 30)
    ended, child = await begun.statuses()
    assert ended.status == child.status == "cancelled"
    assert child.ended_at is not None
    assert ended.ended_at is not None
    assert child.ended_at < ended.ended_at


async def test_a_shutdown_reaches_the_child(stopping: Callable[..., Any]) -> None:
    begun = await stopping(waiting, Stop.SHUTDOWN)
    begun.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(begun.task, 30)
    assert [run.error_code for run in await begun.statuses()] == ["shutdown", "shutdown"]


async def test_a_timeout_of_the_parent_reaches_the_child(stopping: Callable[..., Any]) -> None:
    begun = await stopping(waiting, timeout_seconds=3.0)
    await asyncio.wait_for(begun.task, 30)
    ended, child = await begun.statuses()
    assert (ended.error_code, child.status) == ("timeout", "cancelled")


async def test_a_failure_of_the_parent_reaches_the_child(stopping: Callable[..., Any]) -> None:
    fail = asyncio.Event()

    async def failing(ctx: Any) -> None:
        async with ctx.spawn("waits", {}):
            await fail.wait()
            raise ValueError("no")

    begun = await stopping(failing)
    fail.set()
    await asyncio.wait_for(begun.task, 30)
    ended, child = await begun.statuses()
    assert (ended.error_code, child.status) == ("agent_error", "cancelled")


async def test_a_child_is_cancelled_without_its_parent(stopping: Callable[..., Any]) -> None:
    ends: list[dict[str, Any]] = []

    async def parent(ctx: Any) -> str:
        async with ctx.spawn("waits", {}) as child:
            ends.append(await child.end())
        return "went on"

    begun = await stopping(parent)
    await db(lifecycle.cancel, begun.child)
    await asyncio.wait_for(begun.task, 30)
    ended, child = await begun.statuses()
    assert (ended.status, child.status) == ("succeeded", "cancelled")
    assert ends[0]["outcome"] == {"type": "cancelled"}


async def test_a_lost_worker_loses_parent_and_child_at_once(
    stopping: Callable[..., Any], settings: Settings
) -> None:
    async def holding(ctx: Any) -> None:
        # It does not end by its child's end: its worker is lost only by name.
        async with ctx.spawn("waits", {}):
            await asyncio.Event().wait()

    begun = await stopping(holding)
    worker = await db(a_worker)
    for run in (begun.run, begun.child):
        await db(give, run, worker)
    assert await db(reaper.run_once) == [], "while their worker lives, nobody is lost"
    await db(gone, worker)
    assert sorted(await db(reaper.run_once)) == sorted([begun.run.pk, begun.child.pk])
    begun.task.cancel()
    await asyncio.wait({begun.task}, timeout=30)
    assert [run.error_code for run in await begun.statuses()] == ["worker_lost"] * 2


async def test_a_child_is_seen_by_whoever_sees_its_parent_and_erased_with_it(
    cast: Cast, play: Play
) -> None:
    async def parent(ctx: Any) -> None:
        async with ctx.spawn("echo", HELLO) as child:
            await child.end()

    run, _ = await play(parent)
    (child,) = await children_of(run)
    assert (child.thread.created_by, child.thread.visibility) == (run.started_by, "team")

    def hide_and_erase() -> None:
        threads.change(cast.alice.principal, run.thread_id, {"visibility": "private"})
        assert Thread.objects.get(pk=child.thread_id).visibility == "private"
        erasure.erase_thread("host", run.thread)
        assert not Thread.objects.exists()
        assert not Run.objects.exists()

    await db(hide_and_erase)
    await db(admission.recount)
