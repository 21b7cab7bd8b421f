"""A team's issues as members and keys see and change them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Max, Min, Prefetch, Q, QuerySet
from django.db.models.functions import Left, TruncDay

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.models import Agent
from agui_host.teams import audit
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.access.insight.visibility import to_reader
from runs.models import Issue, IssueNote, IssueRun, Run, without_bodies

OPEN, RESOLVED, ALL = "open", "resolved", "all"
STATES = (OPEN, RESOLVED, ALL)
STATUSES = (OPEN, RESOLVED)
DAYS = 14
"""Days whose failures are counted one by one, with today."""
MOST_NOTES = 200
LONGEST_ERROR = 300
"""Characters of a run's error that the page of an issue shows."""
CAME_BACK = Q(resolved_at__isnull=False, last_seen__gt=F("resolved_at"))
IS_OPEN = Q(resolved_at=None) | CAME_BACK


class NotesFull(Conflict):
    """An issue has at most 200 notes."""

    code = "notes_full"


def listed(principal: Principal, state: str = ALL) -> TeamQuerySet[Any]:
    """The issues that the principal sees a run of, with ``count``, ``first_seen``, ``last_seen``.

    These are of the runs that the principal sees. Raises Forbidden.
    """
    principal.require("view_team")
    rows = Issue.objects.for_team(principal.team).filter(
        to_reader(principal, "runs__"), runs__team=principal.team
    )
    # Joined, these would be sorted and grouped with each of the runs.
    agents = Agent.objects.for_team(principal.team).only("team", "slug", "name")
    members = Membership.objects.for_team(principal.team).select_related("user")
    counted = rows.annotate(
        count=Count("runs"), first_seen=Min("runs__at"), last_seen=Max("runs__at")
    )
    counted = counted.prefetch_related(Prefetch("agent", agents))
    counted = counted.prefetch_related(Prefetch("assignee", members))
    chosen = {OPEN: counted.filter(IS_OPEN), RESOLVED: counted.exclude(IS_OPEN)}
    return chosen.get(state, counted)


def find(principal: Principal, issue_id: UUID) -> Issue:
    """One of them. Raises NotFound, Forbidden."""
    row: Issue | None = listed(principal).filter(pk=issue_id).first()
    if row is None:
        raise NotFound("There is no such issue.")
    return row


def state_of(issue: Any) -> str:
    """``open`` or ``resolved``, of an issue with ``last_seen``."""
    return OPEN if issue.resolved_at is None or came_back(issue) else RESOLVED


def came_back(issue: Any) -> bool:
    """Whether a run failed after the issue was resolved."""
    return issue.resolved_at is not None and issue.last_seen > issue.resolved_at


def runs(principal: Principal, issue: Issue) -> QuerySet[Run]:
    """The issue's runs that the principal sees, newest first; ``beginning`` is of the error."""
    mine = IssueRun.objects.for_team(principal.team).filter(issue=issue.pk)
    rows = access.visible(principal).filter(pk__in=mine.values("run")).order_by("-journal_id")
    return without_bodies(rows.annotate(beginning=Left("error_message", LONGEST_ERROR)))


def days(principal: Principal, issues: Iterable[Issue]) -> dict[UUID, list[int]]:
    """How many runs failed on each of the latest ``DAYS`` days of UTC, by issue."""
    today = clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=DAYS - 1)
    counts = {issue.pk: [0] * DAYS for issue in issues}
    mine = IssueRun.objects.for_team(principal.team).filter(
        to_reader(principal), issue__in=list(counts), at__gte=since
    )
    by_day = mine.order_by().annotate(day=TruncDay("at", tzinfo=UTC)).values("issue", "day")
    for row in by_day.annotate(number=Count("pk")):
        place = (row["day"] - since).days
        if place < DAYS:  # a clock that is ahead
            counts[row["issue"]][place] = row["number"]
    return counts


def notes(issue: Issue) -> QuerySet[IssueNote]:
    """The notes of an issue that the caller may see, oldest first."""
    return IssueNote.objects.already_found().filter(issue=issue.pk).order_by("pk")


def change(principal: Principal, issue_id: UUID, values: Mapping[str, Any]) -> Issue:
    """Set ``status``, ``assigned_to`` (a login or None), and add ``note``; each is optional.

    Raises NotFound, Forbidden, Invalid, NotesFull.
    """
    find(principal, issue_id)
    principal.require("comment")
    with transaction.atomic():
        locked_rows = Issue.objects.for_team(principal.team).select_for_update(no_key=True)
        row = locked_rows.filter(pk=issue_id).first()
        if row is None:
            raise NotFound("There is no such issue.")
        if "status" in values:
            resolves = values["status"] == RESOLVED
            row.resolved_at = clock.now() if resolves else None
            row.resolved_by = principal.label if resolves else ""
        if "assigned_to" in values:
            row.assignee = _member(principal, values["assigned_to"])
        row.save(update_fields=["resolved_at", "resolved_by", "assignee"])
        if text := values.get("note"):
            _write(principal, row, text)
        audit.record(principal, principal.team, "issue.changed", str(row.pk), fields=sorted(values))
    return find(principal, issue_id)


def _write(principal: Principal, issue: Issue, text: str) -> None:
    if notes(issue).count() >= MOST_NOTES:
        raise NotesFull(details={"max": MOST_NOTES})
    IssueNote.objects.create(team=principal.team, issue=issue, text=text, author=principal.label)


def _member(principal: Principal, login: str | None) -> Membership | None:
    if login is None:
        return None
    rows = Membership.objects.for_team(principal.team)
    if (member := rows.filter(user__username=login).first()) is None:
        raise Invalid("The team has no member of that name.", details={"path": "assigned_to"})
    return member
