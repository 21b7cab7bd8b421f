"""The RunContext of an attempt: its input, its effects, and what earlier attempts have sent."""

from typing import Any

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.input import healing
from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.context import so_far
from agui_host.runtimes.context.effects import Effects
from agui_host.runtimes.context.person import Person
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.context.spawn import Spawn
from agui_host.runtimes.models import OnCodeChange
from agui_host.runtimes.versions.codes import code_of
from events.writer.lease import Lease
from runs.access import context
from runs.access.evaluation import former
from runs.lifecycle.lifecycle import Claimed
from runs.lifecycle.recovery.continuing import Continued
from runs.lifecycle.recovery.effects import Attempt
from runs.worker import files
from runs.worker.agent.inboxes import inboxes
from runs.worker.continuing.store import RunEffects

LONGEST_RULE = 20
CHANGED = "The run lost its worker, and the agent's code has changed since then."


async def make(
    claimed: Claimed, input: dict[str, Any], spawn: Spawn, lease: Lease, intake: Intake
) -> RunContext:
    """The context of a claimed run; its inbox is open until ``inboxes().close``.

    The input's repairs, and each context provider that fails, become findings of ``intake``.

    Raises RunFailed if the agent does not continue the runs of another version of its code, or if
    the version that the run is to have is gone.
    """
    run, agent = claimed.run, claimed.run.agent
    for action, times in claimed.prepared.repairs.items():
        intake.findings.add(1, healing.RULE, action, times)
    await former.put_on(run)
    ends = agent.on_code_change == OnCodeChange.END
    if ends and isinstance(claimed, Continued) and claimed.code_changed:
        raise RunFailed(RunErrorCode.CODE_CHANGED, CHANGED)
    body, failed = await context.provided(run, input)
    for name in failed:
        intake.findings.add(1, f"context.{name}"[:LONGEST_RULE], "skipped")
    number = claimed.number if isinstance(claimed, Continued) else 1
    attempt = Attempt(run.pk, run.team_id, claimed.claim.generation, number, code_of(agent))
    store = RunEffects(attempt, inherits=any(_is_about_effect(entry) for entry in answers(body)))
    effects = Effects(store)
    if isinstance(claimed, Continued):
        body = {**body, "state": claimed.so_far.state}
    ctx = RunContext(
        body,
        agent=agent.slug,
        settings=agent.settings,
        team=str(run.team_id),
        spawn=spawn,
        files=await files.of_run(run, body),
        effects=effects,
        person=Person.of(run.end_user, run.started_by, run.person),
    )

    async def stored() -> None:
        await ctx.outbox.taken()
        await lease.flush()

    effects.stored = stored
    if isinstance(claimed, Continued):
        ctx.attempt = claimed.number
        of_input = {message.get("id") for message in ctx.messages}
        messages = [each for each in claimed.so_far.messages if each.get("id") not in of_input]
        ctx.so_far = so_far.of_messages(
            messages, claimed.so_far.state, claimed.cut, ctx.messages, input.get("state")
        )
    inboxes().open(run.pk, ctx.inbox)
    return ctx


def answers(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers that an input brings."""
    return body.get("resume") or []


def _is_about_effect(entry: dict[str, Any]) -> bool:
    return str(entry.get("interruptId", "")).startswith("effect-")
