"""Agents that read messages: one until it is told to stop, one for a moment."""

import asyncio
from contextlib import suppress

from agui_host import RunContext, agent

STOP = "stop"
MOMENT = 2.0


@agent("attentive", recovery="continue")
async def attentive(ctx: RunContext) -> None:
    contents = [message.get("content") for message in ctx.so_far.messages]
    if STOP not in contents:
        async for message in ctx.inbox:
            if message.content == STOP:
                return


@agent("hasty")
async def hasty(ctx: RunContext) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(MOMENT):
            async for _ in ctx.inbox:
                await asyncio.sleep(0.1)
