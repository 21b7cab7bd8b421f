"""The context that an agent gets: its run's input with the team's context, files and messages."""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.input import healing
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.context.spawn import Spawn
from runs.access import context
from runs.models import Run
from runs.worker import files
from runs.worker.agent.inboxes import inboxes


async def of_run(
    run: Run, input: dict[str, Any], repairs: Mapping[str, int], intake: Intake, spawn: Spawn
) -> RunContext:
    """The context of a claimed run; its inbox is open until ``inboxes().close``."""
    agent = run.agent
    for action, times in repairs.items():
        intake.findings.add(1, healing.RULE, action, times)
    body = await context.provided(run, input)
    ctx = RunContext(
        body,
        agent=agent.slug,
        settings=agent.settings,
        team=str(run.team_id),
        spawn=spawn,
        files=await files.of_run(run, body),
    )
    inboxes().open(run.pk, ctx.inbox)
    return ctx
