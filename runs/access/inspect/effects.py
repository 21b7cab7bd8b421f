"""The effects of a run and its further attempts, only for people who may manage its agent."""

from dataclasses import dataclass
from typing import Any

from agui_host.protocol.fold.outline_row import FAILED, RUNNING, SUCCEEDED, UNFINISHED
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.models import Effect, EffectStatus, Recovery, Run
from runs.models.short import short

MOST = 200
"""Effects that are shown; the first ones."""


EFFECT = "effect"
"""The kind of their rows in an outline."""
STATUSES = {
    EffectStatus.STARTED: RUNNING,
    EffectStatus.DONE: SUCCEEDED,
    EffectStatus.FAILED: FAILED,
    EffectStatus.UNVERIFIED: UNFINISHED,
}


@dataclass(frozen=True, slots=True)
class Durable:
    """``effects`` in the order in which they were first started; long values are left out."""

    effects: list[Effect]
    recoveries: list[Recovery]


def rows(principal: Principal, run: Run) -> list[dict[str, Any]]:
    """The effects as rows of an outline, without their values; none without the right.

    Their numbers are negative: the outline's own rows keep theirs. ``seq0`` is the last event that
    was stored before an effect started.
    """
    if not access.may(principal, "manage_agents", run):
        return []
    effects = Effect.objects.for_team(run.team).filter(run=run).defer("value").order_by("id")
    return [_row(-number, effect) for number, effect in enumerate(effects[:MOST], 1)]


def _row(number: int, effect: Effect) -> dict[str, Any]:
    gist = f"{effect.status}, attempt {effect.attempt}"
    if effect.read_by:
        gist += f", read back by attempt {effect.read_by}"
    seq, ended = max(effect.seq, 1), effect.ended_at
    return {
        "n": number,
        "kind": EFFECT,
        "id": effect.key,
        "parent": None,
        "lane": [],
        "name": effect.key,
        "seq0": seq,
        "seq1": seq,
        "t0": round(effect.started_at.timestamp() * 1000),
        "t1": None if ended is None else round(ended.timestamp() * 1000),
        "bytes": effect.bytes,
        "status": STATUSES[EffectStatus(effect.status)],
        "result": None,
        "gist": gist,
        "of_input": False,
    }


def for_page(principal: Principal, run: Run) -> Durable | None:
    """For the page of a run that the principal may view; None without the right, or without any."""
    if not run.journal.head or not access.may(principal, "manage_agents", run):
        return None
    effects = list(
        short(Effect.objects.for_team(run.team).filter(run=run), "value").order_by("id")[:MOST]
    )
    recoveries = list(Recovery.objects.for_team(run.team).filter(run=run).order_by("number"))
    return Durable(effects, recoveries) if effects or recoveries else None
