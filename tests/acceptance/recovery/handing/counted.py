"""An agent that leaves a line in a file each time that it begins: its run, and what was asked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_host import RunContext, agent
from tests.acceptance.recovery.twenty_effects import note


@agent("counted", description="Counts how often it begins.")
async def counted(ctx: RunContext) -> AsyncIterator[dict[str, Any]]:
    """Note the run and the ids of its user's messages, then say a word."""
    asked = [message["id"] for message in ctx.messages if message["role"] == "user"]
    note(Path(ctx.forwarded_props["file"]), ctx.run_id, ",".join(asked))
    yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m-{ctx.run_id}", "delta": "once"}
