"""The outline on the page of a run: its first rows come with the page, a module updates them."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import QueryDict
from django.utils.http import urlencode

from agui_project.errors import BadCursor
from dashboard.templatetags.clock import spoken
from events.journal import Purged
from events.outlines import Slice
from protocol.fold.outline import SUBAGENT
from protocol.views.redaction import Redaction
from runs.access.inspect import outlines
from runs.models import Run

ROWS = 200
"""Rows in the page; more are one link away."""
SECONDS = 0.3
"""How long the page waits for the outline of a long log, before the module asks for the rest."""
DEEPEST = 6
PARAMETER = "outline"
ALONE = frozenset({"message", "reasoning"})
"""Where there is nothing else, the conversation says it better, and the outline starts closed."""


@dataclass(frozen=True, slots=True)
class Panel:
    """``rows`` after the row ``after``; ``head`` is the event up to which they are complete."""

    url: str
    rows: list[dict[str, Any]]
    after: int
    head: int
    has_more: bool

    @property
    def is_open(self) -> bool:
        return any(row["kind"] not in ALONE for row in self.rows)

    @property
    def earlier(self) -> str:
        """The query of the rows before, or empty."""
        return _query(max(0, self.after - ROWS)) if self.after else ""

    @property
    def later(self) -> str:
        """The query of the rows behind, or empty."""
        return _query(self.rows[-1]["n"]) if self.has_more else ""


def panel(run: Run, query: QueryDict, url: str, redaction: Redaction | None = None) -> Panel | None:
    """The panel of a run that the visitor may view; None if the run was purged."""
    if not run.journal.head:
        return Panel(url, [], 0, 0, has_more=False)  # a run that waits costs no query
    try:
        part, after = _read(run, query.get(PARAMETER, "0"), redaction)
    except Purged:
        return None
    rows = [json.loads(row) for row in part.rows]
    for row in rows:
        row["depth"] = min(len(row["lane"]) - (row["kind"] == SUBAGENT), DEEPEST)
        row["took"] = _took(row)
    return Panel(url, rows[:ROWS], after, part.head, len(rows) > ROWS)


def _read(run: Run, value: str, redaction: Redaction | None) -> tuple[Slice, int]:
    limits = {"limit": str(ROWS + 1)}
    try:
        part = outlines.read(run, {"after": value, **limits}, redaction, seconds=SECONDS)
        return part, int(value)
    except BadCursor:  # A page shows something for every address.
        return outlines.read(run, limits, redaction, seconds=SECONDS), 0


def _took(row: dict[str, Any]) -> str:
    """How long it took by the times of its events, which an agent may have set."""
    if row["seq1"] in (None, row["seq0"]) or row["t0"] is None or row["t1"] is None:
        return ""
    try:
        return spoken(timedelta(milliseconds=max(0, row["t1"] - row["t0"])))
    except OverflowError:
        return ""


def _query(after: int) -> str:
    return "?" + urlencode({PARAMETER: after}) + "#outline"
