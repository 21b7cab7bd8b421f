"""An agent that waits for a file, and starts another run only then."""

from collections.abc import AsyncIterator
from typing import Any

from agui_host import RunContext, agent
from tests.acceptance.recovery.handing.gated import counted


@agent("late-child", description="Counts until a file is there, then has another agent work.")
async def late_child(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    async for event in counted(ctx):
        yield event
    async with ctx.spawn("scripted", {"forwardedProps": {"script": [{"text": "late"}]}}) as child:
        end = await child.end()
    yield {"type": "CUSTOM", "name": "child ended", "value": end["type"]}
