"""A pydantic-ai agent whose run is continued after its last complete tool result."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host import RunContext
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.fold.fold import Fold
from tests.needs import need_module
from tests.runs.playing import settled
from tests.runs.recovery.lost import Begin, begin, lose

need_module("pydantic_ai")
__all__ = ["begin"]
pytestmark = pytest.mark.django_db(transaction=True)
CITIES = ("Bern", "Oslo")


class Weather:
    """Two tool calls, one after the other, and an answer; the first attempt stops at ``point``."""

    def __init__(self, point: str) -> None:
        from pydantic_ai import Agent
        from pydantic_ai import RunContext as ToolContext
        from pydantic_ai.models.function import DeltaToolCall, FunctionModel

        self.point = point
        self.here = asyncio.Event()
        self.tools: list[str] = []
        self.asked: list[int] = []
        self.attempts = 0

        async def model(messages: Any, _: Any) -> AsyncIterator[Any]:
            results = [
                part for message in messages for part in message.parts
                if part.part_kind == "tool-return"
            ]  # fmt: skip
            self.asked.append(len(results))
            if len(results) < len(CITIES):
                city = CITIES[len(results)]
                call = DeltaToolCall(
                    name="temperature", json_args=f'{{"city": "{city}"}}', tool_call_id=city
                )
                yield {0: call}
                return
            for number, word in enumerate(("It ", "is ", "cold.")):
                yield word
                if number == 1:
                    await self.reach("text")

        self.agent = Agent(FunctionModel(stream_function=model), deps_type=RunContext)

        @self.agent.tool
        async def temperature(context: ToolContext[RunContext], city: str) -> int:
            """The temperature of a city."""
            await self.reach(f"before {city}")

            async def measure(city: str) -> int:
                self.tools.append(city)
                return len(city)

            value = await context.deps.once(f"measure-{city}", measure, city)
            await self.reach(f"after {city}")
            return int(value)

    async def reach(self, point: str) -> None:
        if self.attempts == 1 and self.point == point:
            self.here.set()
            await asyncio.Event().wait()

    async def __call__(self, ctx: RunContext) -> AsyncIterator[Any]:
        from agui_host.frameworks import pydantic_ai

        self.attempts += 1
        async for event in pydantic_ai.events(ctx, self.agent, deps=ctx):
            yield event


@pytest.mark.parametrize(
    ("point", "asked"),
    [
        ("before Bern", [0, 0, 1, 2]),
        ("after Bern", [0, 0, 1, 2]),
        ("before Oslo", [0, 1, 1, 2]),
        ("after Oslo", [0, 1, 1, 2]),
        ("text", [0, 1, 2, 2]),
    ],
)
async def test_it_continues_after_its_last_result(
    begin: Begin, point: str, asked: list[int]
) -> None:
    weather = Weather(point)
    workers = await begin(weather, "How warm?")
    await asyncio.wait_for(weather.here.wait(), 20)
    await asyncio.sleep(0.2)  # What was sent is stored.
    first = workers.task
    assert first
    assert await db(lose, workers.run)
    first.cancel()
    await asyncio.wait({first}, timeout=20)
    await workers.take()
    run, log = await settled(await workers.to_the_end())
    assert run.status == "succeeded", log[-1]
    assert weather.tools == ["Bern", "Oslo"], "each was called once"
    assert weather.asked == asked, "the model was given the results so far"
    fold = Fold()
    for event in log:
        fold.feed(event)
    assert [m["content"] for m in fold.messages if m["role"] == "tool"] == ["4", "4"]
    answers = [m["content"] for m in fold.messages if m["role"] == "assistant" and m.get("content")]
    assert answers == ["It is cold."]
