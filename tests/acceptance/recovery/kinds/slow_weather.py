"""A pydantic-ai agent of two tool calls, each of which leaves a line when its tool really runs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai import RunContext as ToolContext
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agui_host import RunContext, agent
from agui_host.frameworks import pydantic_ai

CITIES = ("Bern", "Oslo")
ANSWER = "It is cold in both of these cities today, and it will not get warmer."


async def model(messages: Any, _: Any) -> AsyncIterator[Any]:
    parts = [part for message in messages for part in message.parts]
    results = [part for part in parts if part.part_kind == "tool-return"]
    if len(results) < len(CITIES):
        city = CITIES[len(results)]
        for piece in ('{"city"', f': "{city}"}}'):
            name = "temperature" if piece.startswith("{") else None
            yield {0: DeltaToolCall(name=name, json_args=piece, tool_call_id=city)}
            await asyncio.sleep(0.1)
        return
    for number, word in enumerate(ANSWER.split(" ")):
        yield f" {word}" if number else word
        await asyncio.sleep(0.1)


weather = Agent(FunctionModel(stream_function=model), deps_type=RunContext)


@weather.tool
async def temperature(context: ToolContext[RunContext], city: str) -> int:
    """The temperature of a city."""

    async def measure(city: str) -> int:
        with (Path(context.deps.forwarded_props["folder"]) / "tools").open("a") as file:
            file.write(f"{city}\n")
        return len(city)

    value = await context.deps.once(f"measure-{city}", measure, city)
    await asyncio.sleep(0.1)
    return int(value)


@agent("slow-weather", recovery="continue")
async def slow_weather(ctx: RunContext) -> AsyncIterator[Any]:
    async for event in pydantic_ai.events(ctx, weather, deps=ctx):
        yield event
