"""An agent of yours; the name of this file is in AGUI_AGENT_MODULES."""

from collections.abc import AsyncIterator

from agui_host import RunContext, agent


@agent("support-desk", description="Answers questions about orders.")
async def support_desk(ctx: RunContext) -> AsyncIterator[str]:
    """Repeats the question, until you put your model in its place."""
    yield f"You asked: {ctx.text}"
