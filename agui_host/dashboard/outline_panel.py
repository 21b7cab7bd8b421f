"""The outline on the page of a run: its first rows, for readers without JavaScript."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import QueryDict
from django.utils.http import urlencode

from agui_host.dashboard.templatetags.clock import spoken
from agui_host.errors import BadCursor
from agui_host.protocol.fold.outline_kinds import STEP, SUBAGENT, TOOL
from agui_host.protocol.views.redaction import Redaction
from agui_host.teams.authentication import Principal
from events.journal import Purged
from events.outlines import Slice
from runs.access.inspect import outlines
from runs.models import Run

ROWS = 200
"""Rows in the page; more are one link away."""
SECONDS = 0.3
"""How long the page waits for the outline of a long log; the timeline asks for the rest."""
DEEPEST = 6
PARAMETER = "outline"
LANES = frozenset({TOOL, STEP, SUBAGENT})
"""A run with more than one of these opens with its timeline, any other with the conversation."""


@dataclass(frozen=True, slots=True)
class Panel:
    """``rows`` after the row ``after``; ``head`` is the event up to which they are complete."""

    url: str
    rows: list[dict[str, Any]]
    after: int
    head: int
    has_more: bool

    @property
    def opens_timeline(self) -> bool:
        """Whether the timeline has more than one bar to draw."""
        return sum(row["kind"] in LANES for row in self.rows) > 1

    @property
    def earlier(self) -> str:
        """The query of the rows before, or empty."""
        return _query(max(0, self.after - ROWS)) if self.after else ""

    @property
    def later(self) -> str:
        """The query of the rows behind, or empty."""
        return _query(self.rows[-1]["n"]) if self.has_more else ""


def panel(
    principal: Principal, run: Run, query: QueryDict, url: str, redaction: Redaction | None = None
) -> Panel | None:
    """The panel of a run that the visitor can view; None if the run was purged."""
    if not run.journal.head:
        return Panel(url, [], 0, 0, has_more=False)  # a run that waits costs no query
    try:
        part, after = _read(principal, run, query.get(PARAMETER, "0"), redaction)
    except Purged:
        return None
    rows = [json.loads(row) for row in part.rows]
    for row in rows:
        row["depth"] = min(len(row["lane"]) - (row["kind"] == SUBAGENT), DEEPEST)
        row["took"] = took(row)
    return Panel(url, rows[:ROWS], after, part.head, len(rows) > ROWS)


def _read(
    principal: Principal, run: Run, value: str, redaction: Redaction | None
) -> tuple[Slice, int]:
    limits = {"limit": str(ROWS + 1)}
    try:
        query = {"after": value, **limits}
        part = outlines.read(principal, run, query, redaction, seconds=SECONDS)
        return part, outlines.number({"after": value}, "after")
    except BadCursor:  # A page shows something for every address.
        return outlines.read(principal, run, limits, redaction, seconds=SECONDS), 0


def took(row: dict[str, Any]) -> str:
    """How long it took by the times of its events, which an agent can set."""
    if row["seq1"] in (None, row["seq0"]) or row["t0"] is None or row["t1"] is None:
        return ""
    try:
        return spoken(timedelta(milliseconds=max(0, row["t1"] - row["t0"])))
    except OverflowError:
        return ""


def _query(after: int) -> str:
    return "?" + urlencode({PARAMETER: after}) + "#outline"
