"""A pydantic-ai agent that continues after its last tool result when its run has lost a worker.

The history of the run is in its log: a further attempt gives the model the input and the calls and
results so far. Text after the last result is written again, and replaces that of the lost attempt.
"""

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import EventType, MessagesSnapshotEvent
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui_host.runtimes.context.run_context import RunContext


async def events(ctx: RunContext, agent: Any, **options: Any) -> AsyncIterator[Any]:
    """Run a pydantic-ai ``Agent`` as the agent of this run, and continue it in a further attempt.

    ``options`` are those of ``AGUIAdapter.run_stream``: with ``deps=ctx`` a tool can call
    ``ctx.deps.once`` to be called once, also if its worker is lost before its result is stored.
    """
    run_input = ctx.input
    if ctx.recovered:
        messages = [*ctx.messages, *ctx.so_far.finished()]
        run_input = type(run_input).model_validate(
            {**run_input.model_dump(by_alias=True), "messages": messages}
        )
        yield MessagesSnapshotEvent(type=EventType.MESSAGES_SNAPSHOT, messages=run_input.messages)
    adapter = AGUIAdapter(agent=agent, run_input=run_input)
    async for event in adapter.run_stream(**options):
        yield event
