"""The page of tool calls: figures by tool, one tool's newest calls, and calls made twice.

Each is a file as well, with ``format=csv``.
"""

from datetime import UTC, datetime

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.pages import page
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.teams.api import csv_cells
from agui_host.teams.authentication import Principal
from runs.access.insight import calls, tools
from runs.access.usage.figures import DAY, day_of
from runs.models import Called, ToolCall

PERIODS = (1, 7, 30)
USUAL = 7
ROWS = 50
LINES = 10_000
"""Calls of a file."""
SLOWEST = "took"
MOST_SORTED = 2_500
COLUMNS = {
    "calls": "Calls",
    "failed": "Failed",
    "doubles": "Made twice",
    "p50": "50 % took at most",
    "p95": "95 % took at most",
}
"""Of the table of tools, each of which sorts it."""
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
    status = request.GET.get("status", "")
    if not name and not kind and status not in KINDS:
        return _by_tool(request, principal)
    rows: QuerySet[ToolCall] = calls.visible(principal)
    if name:
        rows = rows.filter(name=name.replace("\0", ""))
    if kind:
        rows = calls.doubles(principal, rows, [kind] if kind in KINDS else KINDS)
    if status in KINDS:
        rows = rows.filter(status=status)
    if request.GET.get("format") == "csv":
        return _file(principal, rows)
    is_slowest = request.GET.get("sort") == SLOWEST
    page_of_calls, older = (
        (_slowest(rows), "") if is_slowest else _shown(rows, request.GET.get("before", ""))
    )
    earlier = calls.earlier(principal, page_of_calls)
    context = {
        "principal": principal,
        "name": name,
        "kind": kind,
        "kinds": KINDS,
        "status": status if status in KINDS else "",
        "is_slowest": is_slowest,
        "most_sorted": MOST_SORTED,
        "rows": [
            (call, KINDS.get(call.double, ""), earlier.get(call.pk, [])) for call in page_of_calls
        ],
        "older": older,
    }
    return render(request, "insight/calls.html", context)


def _by_tool(request: HttpRequest, principal: Principal) -> HttpResponse:
    asked = whole(request.GET.get("days", ""), 1, max(PERIODS))
    days = asked if asked in PERIODS else USUAL
    sort = request.GET.get("sort", "")
    sort = sort if sort in tools.ORDERS else next(iter(tools.ORDERS))
    figures = tools.by_tool(principal, day_of(clock.now()) - (days - 1) * DAY, sort)
    if request.GET.get("format") == "csv":
        head = ("tool", "agents", "calls", "failed", "made_twice", "p50_ms", "p95_ms")
        rows = [
            (
                tool.name, " ".join(tool.agents), tool.calls, tool.failed, tool.doubles,
                tool.p50 and round(tool.p50), tool.p95 and round(tool.p95),
            )
            for tool in figures
        ]  # fmt: skip
        return csv_cells.as_file("tools", [head, *rows])
    context = {
        "principal": principal,
        "tools": figures,
        "days": days,
        "periods": PERIODS,
        "sort": sort,
        "columns": COLUMNS,
    }
    return render(request, "insight/tools.html", context)


def _file(principal: Principal, rows: QuerySet[ToolCall]) -> HttpResponse:
    """The newest of these calls."""
    head = ("tool", "agent", "run", "seq", "at", "status", "took_ms", "arguments", "made_twice",
            "result")  # fmt: skip
    # A reader of a run alone does not see which calls of earlier runs it repeats.
    doubled = set(
        calls.doubles(principal, rows).order_by("-at").values_list("pk", flat=True)[:LINES]
    )
    return csv_cells.as_file("tool-calls", [head, *(
        (
            call.name, call.agent.slug, call.run_id, call.seq, call.at.isoformat(), call.status,
            call.took_ms, call.digest, call.double if call.pk in doubled else "", call.result,
        )
        for call in rows.order_by("-at", "-pk")[:LINES]
    )])  # fmt: skip


def _slowest(rows: QuerySet[ToolCall]) -> list[ToolCall]:
    """Among the newest calls: no index has this order."""
    newest = rows.order_by("-at", "-pk").values("pk")[:MOST_SORTED]
    slowest = rows.filter(pk__in=newest).order_by(F("took_ms").desc(nulls_last=True), "-pk")
    return list(slowest[:ROWS])


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
