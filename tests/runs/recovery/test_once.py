"""``ctx.once`` in one attempt, and what it refuses."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.effects import EffectConflict, EffectTooLarge, EffectUnverified
from runs.models import Effect, Interrupt
from tests.cast import Cast, fresh, perform, start
from tests.runs.playing import Play, failure, play, settled
from tests.runs.recovery.lost import Begin, begin, lose

__all__ = ["begin", "play"]
pytestmark = pytest.mark.django_db(transaction=True)


async def test_an_async_agent(play: Play) -> None:
    calls: list[Any] = []

    async def charge(amount: int, *, currency: str) -> dict[str, Any]:
        calls.append((amount, currency))
        return {"amount": (amount, currency)}

    async def agent(ctx: Any) -> None:
        first = await ctx.once("charge", charge, 42, currency="EUR")
        again = await ctx.once("charge", charge, 42, currency="EUR")
        assert first == again == {"amount": [42, "EUR"]}, "as JSON, in each attempt"

    run, log = await play(agent)
    assert run.status == "succeeded"
    assert [event["type"] for event in log] == ["RUN_STARTED", "RUN_FINISHED"], "hidden"
    assert calls == [(42, "EUR")]
    effect = await db(Effect.objects.get, run=run)
    assert (effect.key, effect.status, effect.value) == (
        "charge", "done", '{"amount":[42,"EUR"]}'
    )  # fmt: skip


async def test_a_plain_agent_and_a_plain_function_of_an_async_one(play: Play) -> None:
    def plain(ctx: Any) -> None:
        ctx.result = ctx.once("two", lambda: 1 + 1)

    run, log = await play(plain)
    assert (run.status, log[-1]["result"]) == ("succeeded", 2)


async def test_calls_at_the_same_time_share_one_effect(play: Play) -> None:
    calls: list[int] = []

    def slow() -> int:
        calls.append(1)
        return len(calls)

    async def agent(ctx: Any) -> None:
        ctx.result = await asyncio.gather(*(ctx.once("slow", slow) for _ in range(5)))

    _, log = await play(agent)
    assert log[-1]["result"] == [1] * 5


async def test_the_same_key_with_other_arguments(play: Play) -> None:
    caught: list[Exception] = []

    async def agent(ctx: Any) -> None:
        await ctx.once("k", str, 1)
        try:
            await ctx.once("k", str, 2)
        except EffectConflict as error:
            caught.append(error)
        await ctx.once("k", str, 3)

    run, log = await play(agent)
    assert failure(run, log)[0] == "effect_conflict"
    assert len(caught) == 1


async def test_an_effect_of_fifty_megabytes(play: Play) -> None:
    caught: list[Exception] = []

    async def agent(ctx: Any) -> None:
        try:
            await ctx.once("big", lambda: "x" * 50_000_000)
        except EffectTooLarge as error:
            caught.append(error)
            raise

    run, log = await play(agent)
    assert failure(run, log)[0] == "effect_too_large"
    assert len(caught) == 1
    assert (await db(Effect.objects.get, run=run)).value is None


async def test_the_values_of_a_run_are_bounded_together(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_host.runtimes.context.effects.MOST_BYTES_OF_A_RUN", 1_000)

    async def agent(ctx: Any) -> None:
        for number in range(3):
            await ctx.once(f"value-{number}", lambda: "x" * 400)

    run, log = await play(agent)
    assert failure(run, log)[0] == "effect_too_large"
    values = await db(lambda: list(Effect.objects.order_by("id").values_list("value", flat=True)))
    assert [value is not None for value in values] == [True, True, False]


async def test_one_effect_is_one_however_often_it_fails(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of effects a run has so many, each under its own key."""
    monkeypatch.setattr("agui_host.runtimes.context.effects.MOST_EFFECTS", 2)

    def fail() -> None:
        raise OSError("unreachable")

    async def agent(ctx: Any) -> None:
        for _ in range(5):
            with pytest.raises(OSError, match="unreachable"):
                await ctx.once("first", fail)
        await ctx.once("second", str, 2)
        await ctx.once("third", str, 3)

    run, log = await play(agent)
    assert failure(run, log)[0] == "effect_too_large"
    keys = await db(lambda: sorted(Effect.objects.values_list("key", flat=True)))
    assert keys == ["first", "second"]


async def test_an_effect_that_fails_is_called_again(play: Play) -> None:
    calls: list[int] = []

    def shaky() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("unreachable")
        return "reached"

    async def agent(ctx: Any) -> None:
        with pytest.raises(OSError, match="unreachable"):
            await ctx.once("shaky", shaky)
        ctx.result = await ctx.once("shaky", shaky)

    _, log = await play(agent)
    assert log[-1]["result"] == "reached"


@pytest.mark.parametrize(
    ("key", "args", "error"),
    [("", (), ValueError), ("x" * 201, (), ValueError), ("a\nb", (), ValueError),
     (5, (), ValueError), ("k", (object(),), TypeError), ("k", (float("nan"),), TypeError)],
)  # fmt: skip
async def test_what_cannot_be_kept(
    play: Play, key: Any, args: tuple[Any, ...], error: type[Exception]
) -> None:
    async def agent(ctx: Any) -> None:
        with pytest.raises(error):
            await ctx.once(key, lambda *_: None, *args)
        ctx.result = "refused"

    _, log = await play(agent)
    assert log[-1]["result"] == "refused"


async def test_what_was_sent_before_an_effect_is_stored_before_its_end(begin: Begin) -> None:
    async def agent(ctx: Any) -> AsyncIterator[str]:
        if not ctx.recovered:
            for number in range(300):
                yield f"{number} "
            await ctx.once("k", lambda: 1)
            await asyncio.Event().wait()
        assert "299" in ctx.so_far.messages[0]["content"]

    workers = await begin(agent)
    async with asyncio.timeout(20):
        while not await db(Effect.objects.filter(run=workers.run, status="done").exists):
            await asyncio.sleep(0.01)
    assert await db(lose, workers.run)
    await workers.take()
    run, _ = await settled(await workers.to_the_end())
    assert run.status == "succeeded"


class Unverified:
    """An agent that loses its worker within its second effect."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.calls: list[str] = []
        self.here = asyncio.Event()
        self.hangs = True

    async def effect(self, name: str) -> str:
        self.calls.append(name)
        if name == "charge" and self.hangs:
            self.here.set()
            await asyncio.Event().wait()
        return f"{name} {len(self.calls)}"

    async def __call__(self, ctx: Any) -> None:
        first = await ctx.once("look", self.effect, "look")
        second = await ctx.once(
            "charge", self.effect, "charge", on_unverified=self.policy
        )  # fmt: skip
        ctx.result = [first, second]

    async def lost(self, begin: Begin) -> Any:
        workers = await begin(self)
        await self.here.wait()
        self.hangs = False
        assert await db(lose, workers.run)
        await workers.take()
        return await settled(await workers.to_the_end())


async def test_unverified_is_called_again(begin: Begin) -> None:
    agent = Unverified("retry")
    _, log = await agent.lost(begin)
    assert log[-1]["result"] == ["look 1", "charge 3"]
    assert agent.calls == ["look", "charge", "charge"]


async def test_unverified_fails_the_run(begin: Begin) -> None:
    agent = Unverified("fail")
    run, log = await agent.lost(begin)
    assert failure(run, log)[0] == "effect_unverified"
    assert agent.calls == ["look", "charge"]
    assert (await db(Effect.objects.get, run=run, key="charge")).status == "unverified"
    assert EffectUnverified("charge").reason == "effect_unverified"


@pytest.mark.parametrize(
    ("answer", "result", "calls"),
    [({"happened": True, "value": "receipt"}, ["look 1", "receipt"], ["look", "charge"]),
     ({"happened": False}, ["look 1", "charge 3"], ["look", "charge", "charge"])],
    ids=["happened", "did not"],
)  # fmt: skip
async def test_unverified_asks_people(
    cast: Cast, begin: Begin, writer: Any, answer: dict[str, Any], result: Any, calls: list[str]
) -> None:
    """The run that brings the answer has the effects of the run that asked."""
    agent = Unverified("ask")
    run, log = await agent.lost(begin)
    assert run.status == "interrupted"
    (question,) = log[-1]["outcome"]["interrupts"]
    assert question["metadata"] == {"effect": "charge"}
    assert await db(Interrupt.objects.filter(run=run).count) == 1
    row = await db(lambda: run.agent)
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": answer}]
    answering = await db(start, cast.alice, row, threadId="t", runId="r2", resume=resume)
    ended, log = await settled(await perform(answering, writer))
    assert ended.status == "succeeded"
    assert log[-1]["result"] == result
    assert agent.calls == calls
    assert (await db(fresh, ended)).thread_id == run.thread_id
