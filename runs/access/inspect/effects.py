"""The effects of a run and its further attempts, only for people who may manage its agent."""

from dataclasses import dataclass

from agui_host.teams.authentication import Principal
from runs.access import access
from runs.models import Effect, Recovery, Run
from runs.models.short import short

MOST = 200
"""Effects that are shown; the first ones."""


@dataclass(frozen=True, slots=True)
class Durable:
    """``effects`` in the order in which they were first started; long values are left out."""

    effects: list[Effect]
    recoveries: list[Recovery]


def for_page(principal: Principal, run: Run) -> Durable | None:
    """For the page of a run that the principal may view; None without the right, or without any."""
    if not run.journal.head or not access.may(principal, "manage_agents", run):
        return None
    effects = list(
        short(Effect.objects.for_team(run.team).filter(run=run), "value").order_by("id")[:MOST]
    )
    recoveries = list(Recovery.objects.for_team(run.team).filter(run=run).order_by("number"))
    return Durable(effects, recoveries) if effects or recoveries else None
