"""An agent that leaves a line in a file each time that it begins."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent
from tests.acceptance.recovery.twenty_effects import note


@agent("counted", description="Counts how often it begins.")
async def counted(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    """Note the run's thread, then say a word."""
    note(Path(ctx.forwarded_props["file"]), ctx.thread_id)
    yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "once"}
