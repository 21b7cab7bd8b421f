"""Agents that count until a file is there, with a grace of each kind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent


async def _until(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    gate, count = Path(ctx.forwarded_props["gate"]), 0
    while not gate.exists():
        yield {"type": "CUSTOM", "name": "count", "value": count}
        count += 1
        await asyncio.sleep(0.05)


@agent("handed-over-at-once", recovery="continue")
async def handed_over_at_once(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in _until(ctx):
        yield event


@agent("handed-over-later", recovery="continue", worker_grace=4)
async def handed_over_later(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in _until(ctx):
        yield event


@agent("ended-soon", worker_grace=2)
async def ended_soon(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in _until(ctx):
        yield event


@agent("as-long-as-the-worker")
async def as_long_as_the_worker(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in _until(ctx):
        yield event


@agent("longer-than-the-worker", worker_grace=86_400)
async def longer_than_the_worker(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in _until(ctx):
        yield event
