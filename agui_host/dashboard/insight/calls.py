"""The page of tool calls: figures by tool, one tool's newest calls, and calls made twice."""

from datetime import UTC, datetime

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.pages import page
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.teams.authentication import Principal
from runs.access.insight import calls, tools
from runs.access.usage.figures import DAY, day_of
from runs.models import Called, ToolCall

PERIODS = (1, 7, 30)
USUAL = 7
ROWS = 50
KINDS = {
    Called.OK.value: "after a call that succeeded",
    Called.NONE.value: "after a call without a result",
    Called.ERROR.value: "retry of a failed call",
}


@page
@reading
def tool_calls(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Figures by tool; with ``name`` its newest calls, with ``doubles`` the calls made twice."""
    name = request.GET.get("name", "")
    kind = request.GET.get("doubles", "")
    if not name and not kind:
        return _by_tool(request, principal)
    rows: QuerySet[ToolCall] = calls.visible(principal)
    if name:
        rows = rows.filter(name=name.replace("\0", ""))
    if kind:
        rows = calls.doubles(principal, rows, [kind] if kind in KINDS else KINDS)
    page_of_calls, older = _shown(rows, request.GET.get("before", ""))
    earlier = calls.earlier(principal, page_of_calls)
    context = {
        "principal": principal,
        "name": name,
        "kind": kind,
        "kinds": KINDS,
        "rows": [
            (call, KINDS.get(call.double, ""), earlier.get(call.pk, [])) for call in page_of_calls
        ],
        "older": older,
    }
    return render(request, "insight/calls.html", context)


def _by_tool(request: HttpRequest, principal: Principal) -> HttpResponse:
    asked = whole(request.GET.get("days", ""), 1, max(PERIODS))
    days = asked if asked in PERIODS else USUAL
    figures = tools.by_tool(principal, day_of(clock.now()) - (days - 1) * DAY)
    context = {"principal": principal, "tools": figures, "days": days, "periods": PERIODS}
    return render(request, "insight/tools.html", context)


def _shown(rows: QuerySet[ToolCall], before: str) -> tuple[list[ToolCall], str]:
    """The newest calls, or the newest older ones, and where the next page begins.

    Many calls of a run can have one time: that of its end, if the agent gave none.
    """
    if before:
        text, _, number = before.partition("_")
        try:
            at, key = datetime.fromisoformat(text).astimezone(UTC), whole(number, 0, LARGEST)
        except (ValueError, OverflowError):
            return [], ""
        rows = rows.filter(at__lte=at).exclude(at=at, pk__gte=key or 0)
    newest = list(rows.order_by("-at", "-pk")[: ROWS + 1])
    last = newest[ROWS - 1] if len(newest) > ROWS else None
    return newest[:ROWS], "" if last is None else f"{last.at.isoformat()}_{last.pk}"
