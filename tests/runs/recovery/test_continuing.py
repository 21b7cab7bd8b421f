"""A run whose worker is gone is continued by another one: the same run, one log, one end."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from events.models import Journal
from runs.lifecycle import lifecycle
from runs.lifecycle.recovery import effects
from runs.models import Effect, Recovery, Run
from runs.worker import reaper
from runs.worker.continuing.store import RunEffects
from runs.worker.executor import Stop
from tests.cast import fresh, log_of
from tests.runs.playing import settled
from tests.runs.recovery.lost import Begin, Workers, begin, lose

__all__ = ["begin"]
pytestmark = pytest.mark.django_db(transaction=True)


class Steps:
    """An agent of five effects; it waits in the one that ``holds`` names, in its first attempt."""

    def __init__(self, holds: int = 2) -> None:
        self.holds = holds
        self.calls: list[int] = []
        self.attempts: list[Any] = []
        self.here = asyncio.Event()
        self.freed = asyncio.Event()

    async def step(self, number: int) -> str:
        self.calls.append(number)
        if number == self.holds and len(self.attempts) == 1:
            self.here.set()
            await self.freed.wait()
        return f"result {number}"

    async def __call__(self, ctx: Any) -> None:
        self.attempts.append(ctx)
        for number in range(5):
            result = await ctx.once(f"step-{number}", self.step, number)
            if not ctx.so_far.has(f"m-{number}"):
                with ctx.message(id=f"m-{number}") as message:
                    message.write(result)


async def stored(workers: Workers, events: int) -> None:
    """Wait until so many events are in the log."""
    async with asyncio.timeout(20):
        while len(await db(log_of, workers.run)) < events:
            await asyncio.sleep(0.01)


async def test_the_same_run_goes_on_in_the_same_log(begin: Begin) -> None:
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    await stored(workers, 7)
    assert await db(lose, workers.run)
    assert (await db(fresh, workers.run)).status == "running"
    await workers.take()
    run, log = await settled(await workers.to_the_end())
    assert run.status == "succeeded"
    assert steps.calls == [0, 1, 2, 2, 3, 4], "finished effects were not called again"
    assert [e["delta"] for e in log if "delta" in e] == [f"result {n}" for n in range(5)]
    markers = [event["value"] for event in log if event["type"] == "CUSTOM"]
    assert markers == [{"attempt": 2, "reason": "worker_lost", "cut": []}]
    second = steps.attempts[1]
    assert (second.attempt, second.recovered) == (2, True)
    assert [message["content"] for message in second.so_far.messages] == ["result 0", "result 1"]
    assert steps.attempts[0].recovered is False


@pytest.mark.parametrize(
    ("most", "status", "code"), [(5, "succeeded", None), (4, "failed", "effect_too_large")],
    ids=["all that it may have", "one more"],
)  # fmt: skip
async def test_a_continued_run_may_have_as_many_effects_as_another(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, most: int, status: str, code: str | None
) -> None:
    """Those of its earlier attempts are among them; what is read back or made again is none."""
    monkeypatch.setattr("agui_host.runtimes.context.effects.MOST_EFFECTS", most)
    steps = Steps(holds=3)
    workers = await begin(steps)
    await steps.here.wait()
    assert await db(lose, workers.run)
    await workers.take()
    run, log = await settled(await workers.to_the_end())
    assert (run.status, log[-1].get("code")) == (status, code)
    assert await db(Effect.objects.filter(run=run).count) == most


async def test_the_lost_attempt_can_do_nothing_any_more(begin: Begin) -> None:
    """A worker that was only frozen: neither its events, nor its effects, nor its job count."""
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    first = workers.task
    assert first
    assert await db(lose, workers.run)
    await workers.take()
    steps.freed.set()
    await asyncio.wait_for(first, 20)
    run, log = await settled(await workers.to_the_end())
    assert [e["delta"] for e in log if "delta" in e] == [f"result {n}" for n in range(5)]
    rows = await db(lambda: list(Effect.objects.filter(run=run).order_by("id")))
    assert [(effect.key, effect.status, effect.attempt) for effect in rows] == [
        ("step-0", "done", 1), ("step-1", "done", 1), ("step-2", "done", 2),
        ("step-3", "done", 2), ("step-4", "done", 2),
    ]  # fmt: skip


async def test_the_lost_attempt_begins_no_effect(begin: Begin) -> None:
    """Also none that no other attempt has begun."""
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    lease = await db(lambda: Journal.objects.get(pk=workers.run.pk).writer)
    assert await db(lose, workers.run)
    lost = effects.Attempt(workers.run.pk, workers.run.team_id, lease)
    with pytest.raises(effects.Lost):
        await RunEffects(lost, inherits=False).begin("another", "digest", again=True)
    assert not await db(Effect.objects.filter(run=workers.run, key="another").exists)
    await workers.take()
    steps.freed.set()
    assert (await workers.to_the_end()).status == "succeeded"


async def test_open_parts_are_closed_before_the_next_attempt(begin: Begin) -> None:
    here = asyncio.Event()
    contexts: list[Any] = []

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        if ctx.recovered:
            contexts.append(ctx.so_far)
            yield "the rest"
            return
        ctx.state["page"] = 3
        yield {"type": "STEP_STARTED", "stepName": "search"}
        yield {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "find"}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"q":'}
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "half a sen"}
        here.set()
        await asyncio.Event().wait()

    workers = await begin(agent)
    await here.wait()
    await stored(workers, 8)
    assert await db(lose, workers.run)
    await workers.take()
    _, log = await settled(await workers.to_the_end())
    marker = next(n for n, event in enumerate(log) if event["type"] == "CUSTOM")
    closed = {event["type"] for event in log[8:marker]}
    assert closed == {
        "TEXT_MESSAGE_END", "TOOL_CALL_END", "TOOL_CALL_RESULT", "STEP_FINISHED"
    }  # fmt: skip
    assert set(log[marker]["value"]["cut"]) == {"m", "c", "search"}
    assert log[-1].get("outcome", {}).get("pendingToolCallIds", []) == []
    (so_far,) = contexts
    assert so_far.state == {"page": 3}
    assert so_far.message("m")["content"] == "half a sen"
    assert not so_far.has("m")
    assert so_far.calls["c"]["name"] == "find"


async def test_a_worker_that_leaves_hands_its_run_over_after_the_effect(begin: Begin) -> None:
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    asyncio.get_running_loop().call_later(0.2, steps.freed.set)
    await workers.shut_down()
    row = await db(fresh, workers.run)
    assert (row.status, row.ended_at) == ("running", None)
    await workers.take()
    run, log = await settled(await workers.to_the_end())
    assert run.status == "succeeded"
    assert steps.calls == [0, 1, 2, 3, 4], "the running effect was awaited"
    assert [e["value"]["reason"] for e in log if e["type"] == "CUSTOM"] == ["shutdown"]


async def test_an_agent_that_ends_while_its_worker_leaves(begin: Begin) -> None:
    steps = Steps(holds=4)
    workers = await begin(steps)
    await steps.here.wait()
    asyncio.get_running_loop().call_later(0.2, steps.freed.set)
    await workers.shut_down()
    run = await db(fresh, workers.run)
    if run.status == "running":
        await workers.take()
        run = await workers.to_the_end()
    await settled(run)
    assert steps.calls == [0, 1, 2, 3, 4]


async def test_a_run_that_kills_every_worker_ends(begin: Begin) -> None:
    steps = Steps(holds=0)
    workers = await begin(steps, recovery_attempts=3, recovery_pause=2.0)
    moments = []
    for _ in range(2):
        assert await db(lose, workers.run)
        row = await db(fresh, workers.run)
        assert row.due_at is not None
        moments.append(row.due_at - timezone.now())
    assert await db(lose, workers.run)
    run, log = await settled(await db(fresh, workers.run))
    assert run.error_code == "worker_lost"
    assert "2 others before it" in log[-1]["message"]
    first, second = moments
    assert first <= timedelta(0) < second <= timedelta(seconds=2)


async def test_a_run_is_not_taken_from_a_worker_that_has_it(begin: Begin) -> None:
    """Two reapers look at once: the second finds the run due again."""
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    assert await db(lose, workers.run)
    taken = await db(Recovery.objects.filter(run=workers.run).count)
    row = await db(fresh, workers.run)

    def again() -> bool:
        from runs.lifecycle import repetition

        return repetition.end_lost(
            Run.objects.select_related("thread", "agent").get(pk=workers.run.pk)
        )

    assert await db(again) is False
    assert await db(Recovery.objects.filter(run=workers.run).count) == taken == 1
    assert (await db(fresh, workers.run)).due_at == row.due_at


async def test_a_cancel_while_no_worker_has_the_run(begin: Begin) -> None:
    steps = Steps()
    workers = await begin(steps)
    await steps.here.wait()
    assert await db(lose, workers.run)
    await db(lifecycle.cancel, await db(fresh, workers.run))
    assert await db(reaper.run_once) == [workers.run.pk]
    run, log = await settled(await db(fresh, workers.run))
    assert run.status == "cancelled"
    assert log[-1]["outcome"] == {"type": "cancelled"}


async def test_other_agents_end_as_before(begin: Begin) -> None:
    steps = Steps()
    workers = await begin(steps, recovery="end")
    await steps.here.wait()
    await workers.shut_down()
    run, _ = await settled(await db(fresh, workers.run))
    assert run.error_code == "shutdown"
    assert workers.why is Stop.CANCEL


@pytest.mark.parametrize(("policy", "code"), [("continue", ""), ("end", "code_changed")])
async def test_code_that_has_changed_since(begin: Begin, policy: str, code: str) -> None:
    steps = Steps()
    workers = await begin(steps, on_code_change=policy)
    await steps.here.wait()
    await stored(workers, 7)
    await db(lambda: Effect.objects.filter(run=workers.run).update(version="another"))
    assert await db(lose, workers.run)
    await workers.take()
    run, log = await settled(await workers.to_the_end())
    assert (run.error_code or "") == code
    assert [e["value"]["codeChanged"] for e in log if e["type"] == "CUSTOM"] == [True]
