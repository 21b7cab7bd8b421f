"""What agents of tests do until their client lets them go on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_host import RunContext


async def counted(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    """Count until the file ``gate`` of the run's ``forwardedProps`` is there."""
    gate, count = Path(ctx.forwarded_props["gate"]), 0
    while not gate.exists():
        yield {"type": "CUSTOM", "name": "count", "value": count}
        count += 1
        await asyncio.sleep(0.05)
