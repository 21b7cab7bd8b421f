"""A worker that leaves gives the runs of agents that continue to another one, within seconds."""

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.run_context import RunContext
from events.writer.lease import Lease
from runs.lifecycle.recovery import handing
from runs.models import Run

EFFECTS_GRACE = 10.0
"""Seconds that a run's effects have to end: an effect that is cut short would be unverified."""


async def settle(run: Run, ctx: RunContext | None) -> None:
    """Before a run is stopped: let its effects end, if it is to be continued."""
    if ctx is not None and run.agent.continues and await db(handing.may, run):
        await ctx.effects.settle(EFFECTS_GRACE)


async def handed_over(run: Run, lease: Lease) -> bool:
    """Give a stopped run to another worker, if its agent continues. Raises LostLease."""
    if not run.agent.continues or not await db(handing.may, run):
        return False
    await lease.flush()
    return await db(handing.hand_over, run, lease.generation)
