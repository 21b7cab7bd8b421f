"""Why a run failed, for those who may manage its agent, and for nobody else."""

import json
from typing import Any
from uuid import UUID

from agui_project.errors import NotFound
from runs.access import access
from runs.models import Failure, Run, Status
from teams.authentication import Principal

Details = dict[str, Any]


def find(principal: Principal, run_id: UUID) -> Details:
    """The failure of a run. Raises NotFound, also without any; Forbidden without the right."""
    run = access.find(principal, run_id, "manage_agents")
    details = _of(run)
    if details is None:
        raise NotFound("This run has no failure details.")
    return details


def for_page(principal: Principal, run: Run) -> Details | None:
    """The failure, for the page of a run that the principal may view; None without the right."""
    if run.status != Status.FAILED or not access.may(principal, "manage_agents", run):
        return None
    return _of(run)


def _of(run: Run) -> Details | None:
    stored = Failure.objects.for_team(run.team).filter(run=run).values_list("details", flat=True)
    details: Details | None = next((json.loads(text) for text in stored), None)
    return details
