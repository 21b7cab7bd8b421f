"""Why a run failed, only for people who may manage its agent."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery

from agui_host.errors import NotFound
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.access.insight.visibility import to_reader
from runs.models import Failure, Issue, IssueRun, Run, Status, without_bodies

Details = dict[str, Any]
MOST_ALIKE = 1_000
"""A count stops here."""
NEWEST = 3
LONGEST = 200
"""Characters of an exception in a list."""


@dataclass(frozen=True, slots=True)
class Alike:
    """How many other runs failed in the same way, since when, and the newest of them."""

    count: int
    first_seen: datetime
    newest: list[Run]

    @property
    def is_all(self) -> bool:
        """Whether ``count`` is of all of them."""
        return self.count < MOST_ALIKE


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


def alike(principal: Principal, run: Run) -> Alike | None:
    """The other runs that failed in the same way, as far as the principal sees them; or None."""
    own = Failure.objects.for_team(run.team).filter(run=run).exclude(fingerprint="")
    fingerprint = own.values_list("fingerprint", flat=True).first()
    if fingerprint is None or run.team_id != principal.team.pk:
        return None
    runs = access.visible(principal).exclude(pk=run.pk)
    same = runs.filter(failure__team=run.team_id, failure__fingerprint=fingerprint)
    count = same.order_by()[:MOST_ALIKE].count()
    if not count:
        return None
    first = same.order_by("pk").values_list("created_at", flat=True)[0]
    newest = list(without_bodies(same.order_by("-pk"))[:NEWEST])
    return Alike(count, min(first, run.created_at), newest)


def raised(principal: Principal, issues: Iterable[Issue]) -> dict[UUID, str]:
    """The newest exception of each issue that has one, by issue; none without the right."""
    if not principal.can("manage_agents"):
        return {}
    failing = IssueRun.objects.for_team(principal.team).filter(to_reader(principal))
    newest = Subquery(failing.filter(issue=OuterRef("pk")).order_by("-run").values("run")[:1])
    rows = Issue.objects.for_team(principal.team).filter(pk__in=[issue.pk for issue in issues])
    of_run = {run: issue for issue, run in rows.values_list("pk", newest)}
    stored = Failure.objects.for_team(principal.team).filter(run__in=of_run)
    pairs = stored.exclude(fingerprint="").values_list("run", "details")
    return {of_run[run]: _exception(json.loads(details)) for run, details in pairs}


def _exception(details: Details) -> str:
    return f"{details['exception']}: {details['message']}".removesuffix(": ")[:LONGEST]


def _of(run: Run) -> Details | None:
    stored = Failure.objects.for_team(run.team).filter(run=run).values_list("details", flat=True)
    details: Details | None = next((json.loads(text) for text in stored), None)
    return details
