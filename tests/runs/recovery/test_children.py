"""Children of a run that gets another worker: each continues with it, in its own log."""

import asyncio
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from runs.models import Run
from runs.worker import reaper
from tests.cast import Register, fresh, log_of
from tests.runs.playing import settled
from tests.runs.recovery.lost import Begin, Workers, begin, lose

__all__ = ["begin"]
pytestmark = pytest.mark.django_db(transaction=True)


class Family:
    """A parent that starts one child after the other, of three effects each.

    The child that ``holds`` names waits in its second effect until it is ``freed``.
    """

    def __init__(self, register: Register, holds: int, *, then: str = "") -> None:
        self.register, self.holds, self.then = register, holds, then
        self.calls: list[str] = []
        self.here, self.freed = asyncio.Event(), asyncio.Event()
        self.children: list[list[str]] = []

    async def effect(self, name: str) -> str:
        self.calls.append(name)
        if name == f"{self.holds}.1":
            self.here.set()
            await self.freed.wait()
        return name

    async def child(self, ctx: Any) -> None:
        number = ctx.forwarded_props["number"]
        for step in range(3):
            name = f"{number}.{step}"
            value = await ctx.once(name, self.effect, name)
            if not ctx.so_far.has(name):
                with ctx.message(id=name) as message:
                    message.write(value)

    async def parent(self, ctx: Any) -> None:
        if ctx.recovered and self.then == "end":
            return
        ids = []
        for number in range(2):
            async with ctx.spawn("child", {"forwardedProps": {"number": number}}) as child:
                ids.append(child.id)
                assert (await child.end())["type"] == "RUN_FINISHED"
        self.children.append(ids)

    async def begun(self, begin: Begin, **fields: Any) -> Workers:
        await db(lambda: self.register("child", self.child, **{"recovery": "continue", **fields}))
        workers = await begin(self.parent)
        await self.here.wait()
        return workers


async def children_of(run: Run) -> list[Run]:
    def read() -> list[Run]:
        rows = Run.objects.filter(parent=run).select_related("thread", "journal", "agent")
        return list(rows.order_by("pk"))

    return await db(read)


async def test_a_child_continues_with_its_parent(begin: Begin, register: Register) -> None:
    family = Family(register, holds=1)
    workers = await family.begun(begin)
    first = workers.task
    children = await children_of(workers.run)
    assert await db(lose, children[1]) is False, "it waits for its parent"
    assert await db(lose, workers.run)
    rows = [await db(fresh, run) for run in (workers.run, children[1])]
    assert [row.status for row in rows] == ["running", "running"]
    assert children[1].pk not in await db(reaper.run_once), "the reaper leaves it to its parent"
    family.freed.set()
    await workers.take()
    run, _ = await settled(await workers.to_the_end())
    assert first
    await asyncio.wait_for(first, 20)
    assert run.status == "succeeded"
    assert [str(child.pk) for child in await children_of(run)] == family.children[0]
    assert family.calls.count("0.0") == family.calls.count("1.0") == 1
    log = await db(log_of, children[1])
    assert [event["delta"] for event in log if "delta" in event] == ["1.0", "1.1", "1.2"]
    assert [event["type"] for event in log].count("RUN_STARTED") == 1
    assert [e["value"]["attempt"] for e in log if e["type"] == "CUSTOM"] == [2]
    assert log[-1]["type"] == "RUN_FINISHED"


async def test_a_worker_that_leaves_hands_the_child_over(begin: Begin, register: Register) -> None:
    family = Family(register, holds=0)
    workers = await family.begun(begin)
    asyncio.get_running_loop().call_later(0.2, family.freed.set)
    await workers.shut_down()
    (child,) = await children_of(workers.run)
    assert child.status == "running"
    await workers.take()
    run, _ = await settled(await workers.to_the_end())
    assert run.status == "succeeded"
    assert family.calls == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"], "nothing twice"
    log = await db(log_of, child)
    assert [e["value"]["reason"] for e in log if e["type"] == "CUSTOM"] == ["shutdown"]


async def test_a_parent_that_no_longer_asks_for_its_child(begin: Begin, register: Register) -> None:
    family = Family(register, holds=0, then="end")
    workers = await family.begun(begin)
    first = workers.task
    assert first
    assert await db(lose, workers.run)
    family.freed.set()
    await workers.take()
    run, _ = await settled(await workers.to_the_end())
    await asyncio.wait_for(first, 20)
    (child,) = await children_of(run)  # the lost attempt has read its end, and starts no other
    assert (run.status, child.status) == ("succeeded", "cancelled")
    assert run.ended_at
    assert child.ended_at
    assert child.ended_at < run.ended_at


async def test_a_parent_that_has_lost_too_many_workers(begin: Begin, register: Register) -> None:
    family = Family(register, holds=0)
    await db(lambda: register("child", family.child, recovery="continue"))
    workers = await begin(family.parent, recovery_attempts=1)
    await family.here.wait()
    (child,) = await children_of(workers.run)
    assert await db(lose, workers.run)
    assert await db(lose, child)
    rows = [await db(fresh, run) for run in (workers.run, child)]
    assert [row.error_code for row in rows] == ["worker_lost", "worker_lost"]


async def test_a_child_whose_agent_does_not_continue(begin: Begin, register: Register) -> None:
    family = Family(register, holds=0)
    workers = await family.begun(begin, recovery="end")
    (child,) = await children_of(workers.run)
    assert await db(lose, workers.run)
    assert await db(lose, child)
    assert (await db(fresh, child)).error_code == "worker_lost"
    family.freed.set()
    await workers.take()
    run, _ = await settled(await workers.to_the_end())
    assert run.status == "succeeded"
    assert family.children[0][0] != str(child.pk), "another run of it"
