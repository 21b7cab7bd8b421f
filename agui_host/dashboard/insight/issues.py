"""The pages of issues: their list, and one issue with its runs, notes and forms."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.overview.sparks import Spark
from agui_host.dashboard.pages import action, page
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams.access import members
from agui_host.teams.api import csv_cells
from agui_host.teams.authentication import Principal
from runs.access.insight import issues
from runs.access.inspect import failures
from runs.models import Issue
from runs.models.insight.issue import LONGEST_NOTE

ROWS = 50
LINES = 10_000
"""Issues of a file."""
RUNS = 20
MOST_PAGES = 1_000


@page
@reading
def listing(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The issues of a status, those with the newest failures first."""
    status = request.GET.get("status", issues.OPEN)
    status = status if status in issues.STATES else issues.OPEN
    number = whole(request.GET.get("page", ""), 1, MOST_PAGES) or 1
    ordered = issues.listed(principal, status).order_by("-last_seen", "pk")
    if request.GET.get("format") == "csv":
        return _file(list(ordered[:LINES]))
    rows = list(ordered[ROWS * (number - 1) : ROWS * number + 1])
    context = {
        "principal": principal,
        "status": status,
        "states": issues.STATES,
        "rows": _drawn(principal, rows[:ROWS]),
        "next": number + 1 if len(rows) > ROWS else None,
        "days": issues.DAYS,
    }
    return render(request, "insight/issues.html", context)


@page
def issue(request: HttpRequest, principal: Principal, issue_id: UUID) -> HttpResponse:
    """One issue."""
    row = issues.find(principal, issue_id)
    [(_, spark, state, came_back, raised)] = _drawn(principal, [row])
    context = {
        "principal": principal,
        "issue": row,
        "spark": spark,
        "state": state,
        "came_back": came_back,
        "raised": raised,
        "runs": list(issues.runs(principal, row)[:RUNS]),
        "notes": issues.notes(row),
        "members": members.visible(principal).order_by("user__username"),
        "days": issues.DAYS,
        "longest": LONGEST_NOTE,
    }
    return render(request, "insight/issue.html", context)


@action("issue")
def change(request: HttpRequest, principal: Principal, issue_id: UUID) -> HttpResponse:
    """Resolve or reopen an issue, assign it, or add a note."""
    values: dict[str, str | None] = {}
    if (status := request.POST.get("status")) in (issues.OPEN, issues.RESOLVED):
        values["status"] = status
    if (login := request.POST.get("assigned_to")) is not None:
        values["assigned_to"] = login or None
    if note := request.POST.get("note", "").strip():
        if len(note) > LONGEST_NOTE:
            raise Invalid(f"A note has at most {LONGEST_NOTE:,} characters.")
        values["note"] = note
    issues.change(principal, issue_id, values)
    messages.success(request, "The issue was changed.")
    return redirect(f"{reverse('issue', args=[issue_id])}")


def _file(rows: list[Issue]) -> HttpResponse:
    head = ("issue", "agent", "error", "message", "status", "came_back", "runs", "first_seen",
            "last_seen", "assigned_to")  # fmt: skip
    return csv_cells.as_file("issues", [head, *(
        (
            row.pk, row.agent.slug, row.error_code, row.message, issues.state_of(row),
            issues.came_back(row), vars(row)["count"], vars(row)["first_seen"].isoformat(),
            vars(row)["last_seen"].isoformat(), row.assignee and row.assignee.user.username,
        )
        for row in rows
    )])  # fmt: skip


def _drawn(principal: Principal, rows: list[Issue]) -> list[tuple[Issue, Spark, str, bool, str]]:
    if not rows:
        return []
    days = issues.days(principal, rows)
    raised = failures.raised(principal, rows)
    return [
        (
            row, Spark(days[row.pk], days[row.pk]), issues.state_of(row), issues.came_back(row),
            raised.get(row.pk, ""),
        )
        for row in rows
    ]  # fmt: skip
