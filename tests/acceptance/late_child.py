"""An agent that waits for a file, and starts another run only then."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent


@agent("late-child", description="Counts until a file is there, then has another agent work.")
async def late_child(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    gate, count = Path(ctx.forwarded_props["gate"]), 0
    while not gate.exists():
        yield {"type": "CUSTOM", "name": "count", "value": count}
        count += 1
        await asyncio.sleep(0.05)
    async with ctx.spawn("scripted", {"forwardedProps": {"script": [{"text": "late"}]}}) as child:
        end = await child.end()
    yield {"type": "CUSTOM", "name": "child ended", "value": end["type"]}
