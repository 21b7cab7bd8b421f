"""The page of the team's audit log: the newest lines, filtered, and all of them as CSV."""

import json
import re
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from agui_host.backends.postgres.servers.replica import reading
from agui_host.dashboard.pages import page
from agui_host.protocol.strict_json import dumps
from agui_host.teams.api.audit import AuditFilter, lines_of
from agui_host.teams.authentication import Principal
from agui_host.teams.models import AuditEntry

ROWS = 100
FIELDS = {"who": "who", "act": "action", "target": "target", "since": "since", "until": "until"}
"""The names of the form's fields, of which none is a property of forms, and those of the API."""
ID = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LONGEST = 300


class Line(NamedTuple):
    """A line of the log as people read it: ids are cut, and details have no brackets."""

    entry: AuditEntry
    target: str
    details: str


@page
@reading
def log(request: HttpRequest, principal: Principal) -> HttpResponse:
    """The newest lines that pass the filters, or those before the line ``before``."""
    asked = {name: request.GET.get(name, "").strip() for name in FIELDS}
    query = {FIELDS[name]: text for name, text in asked.items() if text}
    filters = AuditFilter(query, queryset=lines_of(principal))
    newest: list[Any] = []
    if filters.is_valid():
        rows = filters.qs.order_by("-id")
        if (before := _key(request.GET.get("before", ""))) is not None:
            rows = rows.filter(id__lt=before)
        newest = list(rows[: ROWS + 1])
    older = {name: text for name, text in asked.items() if text}
    context = {
        "principal": principal,
        "lines": [_line(entry) for entry in newest[:ROWS]],
        "asked": asked,
        "problems": filters.form.errors,
        "csv": f"{reverse('api-audit-csv')}?{urlencode(query)}",
        "older": urlencode({**older, "before": newest[ROWS - 1].pk}) if newest[ROWS:] else "",
    }
    status = 422 if filters.form.errors else 200
    return render(request, "team/audit.html", context, status=status)


def _key(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _line(entry: AuditEntry) -> Line:
    details = json.loads(entry.details)
    text = "; ".join(f"{name.replace('_', ' ')}: {_text(each)}" for name, each in details.items())
    return Line(entry, ID.sub(r"\1…", entry.target), ID.sub(r"\1…", text)[:LONGEST])


def _text(detail: Any) -> str:
    if isinstance(detail, list):
        return ", ".join(map(_text, detail))
    return detail if isinstance(detail, str) else dumps(detail)
