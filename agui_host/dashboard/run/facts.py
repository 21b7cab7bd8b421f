"""A run's relatives, who cancelled it, and the reason why it waits: its row has none of these."""

from typing import NamedTuple

from django.db.models import Q

from agui_host.protocol.ids import uuid7_floor
from agui_host.teams.authentication import Principal
from agui_host.teams.models import AuditEntry
from runs.access import access
from runs.api.listing.search import HEAVY
from runs.models import ACTIVE, Run, Status

MOST_CHILDREN = 20
SECONDS_APART = 60
"""Between the time of a cancellation in the run's row and its line in the audit log, at most."""


class Facts(NamedTuple):
    """For the page of a run. ``waits``: a sentence, of a queued run only."""

    parent: Run | None
    children: list[Run]
    cancelled_by: str
    waits: str
    waits_for: Run | None


def of(principal: Principal, run: Run) -> Facts:
    """The facts for this visitor, without relatives that are hidden from it."""
    near = access.visible(principal).defer(*HEAVY).filter(Q(parent=run.pk) | Q(pk=run.parent_id))
    rows = [access.faced(principal, row) for row in near.order_by("pk")[: MOST_CHILDREN + 1]]
    parent = next((row for row in rows if row.pk == run.parent_id), None)
    children = [row for row in rows if row.pk != run.parent_id][:MOST_CHILDREN]
    return Facts(parent, children, _cancelled_by(principal, run), *_waits(principal, run))


def _cancelled_by(principal: Principal, run: Run) -> str:
    """The label of who cancelled it; for its team only, whose log knows that."""
    at = run.cancel_requested_at or run.ended_at
    is_cancelled = run.status == Status.CANCELLED or run.cancel_requested_at is not None
    if at is None or not is_cancelled or run.team_id != principal.team.pk:
        return ""
    around = [uuid7_floor(at.timestamp() + each) for each in (-SECONDS_APART, SECONDS_APART)]
    lines = AuditEntry.objects.for_team(principal.team).filter(
        action="run.cancelled", target=str(run.pk), pk__range=around
    )
    return lines.values_list("who", flat=True).first() or ""


def _waits(principal: Principal, run: Run) -> tuple[str, Run | None]:
    if run.status != Status.QUEUED:
        return "", None
    if run.stamp is not None:
        return "a free worker", None
    before = Run.objects.of_one_thread().filter(thread=run.thread_id, status__in=ACTIVE)
    first = before.filter(pk__lt=run.pk).only("status").order_by("pk").first()
    if first is None:
        return "its turn among the runs of the team", None
    is_seen = access.sees_thread(principal, run)
    return "the run before it in this thread", first if is_seen else None
