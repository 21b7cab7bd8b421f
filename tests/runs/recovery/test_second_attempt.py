"""What a further attempt of a run reads back, and what it can take back."""

import asyncio
from typing import Any

import pytest

from agui_host.backends.postgres.bridge import db
from runs.lifecycle import history
from tests.runs.playing import settled
from tests.runs.recovery.lost import Begin, begin, lose

__all__ = ["begin"]
pytestmark = pytest.mark.django_db(transaction=True)


class Twice:
    """An agent that waits in its first attempt for ever, after what ``first`` sends."""

    def __init__(self) -> None:
        self.here = asyncio.Event()
        self.contexts: list[Any] = []

    async def __call__(self, ctx: Any) -> None:
        self.contexts.append(ctx)
        if ctx.recovered:
            await self.again(ctx)
            return
        await self.first(ctx)
        await ctx.once("stored", str, 1)
        self.here.set()
        await asyncio.Event().wait()

    async def first(self, ctx: Any) -> None:
        raise NotImplementedError

    async def again(self, ctx: Any) -> None:
        pass

    async def lost(self, begin: Begin) -> Any:
        workers = await begin(self, "hello")
        await self.here.wait()
        assert await db(lose, workers.run)
        await workers.take()
        run, log = await settled(await workers.to_the_end())
        assert run.status == "succeeded"
        return run, log


class Reads(Twice):
    async def first(self, ctx: Any) -> None:
        ctx.state["places"] = [1, 2]
        ctx.state["places"].append(3)
        with ctx.tool_call("search", id="c") as call:
            call.write('{"for": "rain"}')
        call.result("wet")

    async def again(self, ctx: Any) -> None:
        self.state = ctx.state.copy()
        self.calls = dict(ctx.so_far.calls)
        ctx.state["places"].append(4)


async def test_the_state_and_the_calls_with_their_results(begin: Begin) -> None:
    agent = Reads()
    _, log = await agent.lost(begin)
    assert agent.state == {"places": [1, 2, 3]}
    assert agent.calls == {"c": {"name": "search", "args": '{"for": "rain"}', "result": "wet"}}
    deltas = [event["delta"] for event in log if event["type"] == "STATE_DELTA"]
    assert deltas[-1] == [{"op": "add", "path": "/places/3", "value": 4}]


class Replaces(Twice):
    """It does not go on with the text that was cut: it begins again."""

    async def first(self, ctx: Any) -> None:
        with ctx.message(id="whole") as message:
            message.write("This stays. ")
        message = ctx.message(id="cut").__enter__()
        message.write("It was the")

    async def again(self, ctx: Any) -> None:
        assert list(ctx.so_far.cut) == ["cut"]
        stay = [each for each in ctx.so_far.messages if each["id"] not in ctx.so_far.cut]
        ctx.emit({"type": "MESSAGES_SNAPSHOT", "messages": [*ctx.messages, *stay]})
        with ctx.message(id="new") as message:
            message.write("It was the weather.")


async def test_a_broken_text_is_replaced(begin: Begin) -> None:
    run, _ = await Replaces().lost(begin)
    messages = (await db(history.current, run.thread_id)).messages
    assert [message["content"] for message in messages] == [
        "hello", "This stays. ", "It was the weather.",
    ]  # fmt: skip
