"""Visits to a run by a link or a grant, from the team's audit log."""

from django.db.models import Q

from agui_host.teams.authentication import Principal
from agui_host.teams.models import AuditEntry
from runs.models import Grant, Run

MOST = 20
SEARCHED = 5_000
"""They are looked for among so many of the team's newest visits."""
VISITS = ("link.opened", "grant.used")


def of(principal: Principal, run: Run) -> list[AuditEntry] | None:
    """The newest visits to a run of the principal's team; None without the right to see them."""
    if run.team_id != principal.team.pk or not principal.can("see_audit"):
        return None
    grants = Grant.objects.for_team(principal.team).filter(Q(run=run) | Q(thread=run.thread_id))
    names = [str(pk) for pk in grants.values_list("pk", flat=True)]
    if not names:
        return []
    lines = AuditEntry.objects.for_team(principal.team).order_by("-pk")
    newest = lines.filter(action__in=VISITS).values("pk")[:SEARCHED]
    here = Q(action="link.opened") | Q(details__contains=str(run.pk))
    return list(lines.filter(here, pk__in=newest, target__in=names)[:MOST])
