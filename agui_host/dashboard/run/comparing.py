"""Two runs side by side: their outlines aligned by kind and name, their inputs and last states.

Everything is bounded: the first rows of the outlines, so many characters of the inputs and states,
and the time to fold a state.
"""

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from agui_host.dashboard import listing
from agui_host.dashboard.inbox.indented import indented
from agui_host.dashboard.outline_panel import SECONDS, took
from agui_host.dashboard.pages import page
from agui_host.protocol import patient_json
from agui_host.teams.authentication import Principal
from events.journal import Purged
from runs.access import access, sight
from runs.access.inspect import effects, outlines, states
from runs.models import Run, Status

ROWS = 400
"""Rows of each outline; aligning them takes at most their square."""
SEARCHED = 5_000
"""The last success is looked for among so many of the team's successes before the run."""
LINES = 400

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """One line: a row of each run, or of only one of them."""

    left: Row | None
    right: Row | None

    @property
    def difference(self) -> str:
        """``left`` or ``right`` if only that run has it, ``status`` if it ended otherwise."""
        if self.left is None or self.right is None:
            return "right" if self.left is None else "left"
        return "" if self.left["status"] == self.right["status"] else "status"


@page
def compare(request: HttpRequest, principal: Principal, run_id: Any) -> HttpResponse:
    """A run beside another: the one in ``with``, else the last success of its agent before it."""
    run = access.find(principal, run_id)
    key = listing.key_of("with", request.GET.get("with"))
    other = access.find(principal, key) if key else last_success(principal, run)
    context: dict[str, Any] = {"principal": principal, "run": run, "other": other}
    if other is not None:
        context |= {
            "pairs": list(aligned(_rows(principal, other), _rows(principal, run))),
            "most": ROWS,
            "differences": [
                ("Input", _input_difference(principal, other, run)),
                ("State at the end", _state_difference(principal, other, run)),
            ],
            "sides": [("Before", other), ("This run", run)],
            "url": reverse("run", args=[run.pk]),
            "other_url": reverse("run", args=[other.pk]),
        }
    return render(request, "runs/compare.html", context)


def last_success(principal: Principal, run: Run) -> Run | None:
    """The agent's last run before this one with success, among the team's newest successes."""
    good = access.visible(principal).filter(status=Status.SUCCEEDED, pk__lt=run.pk)
    newest = list(good.order_by("-pk").values_list("pk", "agent_id")[:SEARCHED])
    key = next((pk for pk, agent in newest if agent == run.agent_id), None)
    return access.find(principal, key) if key else None


def aligned(left: list[Row], right: list[Row]) -> Iterator[Pair]:
    """The rows in order, pairs of the same kind, name and depth together."""
    matcher = difflib.SequenceMatcher(
        None, [_name(row) for row in left], [_name(row) for row in right], autojunk=False
    )
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            both = zip(left[start:end], right[other_start:other_end], strict=True)
            yield from (Pair(before, after) for before, after in both)
        else:
            yield from (Pair(row, None) for row in left[start:end])
            yield from (Pair(None, row) for row in right[other_start:other_end])


def _name(row: Row) -> tuple[str, str, int]:
    return row["kind"], row["name"], len(row["lane"])


def _rows(principal: Principal, run: Run) -> list[Row]:
    try:
        part = outlines.read(principal, run, {"limit": str(ROWS)}, seconds=SECONDS)
    except Purged:
        return []
    rows: list[Row] = [json.loads(row) for row in part.rows]
    rows += effects.rows(principal, run)
    return [row | {"took": took(row)} for row in rows]


def _input_difference(principal: Principal, before: Run, after: Run) -> list[str] | None:
    """The lines in which the inputs differ; None for a visitor who cannot see both."""
    if any(sight.of(principal, run) for run in (before, after)):
        return None
    return _difference(_input(before), _input(after))


def _state_difference(principal: Principal, before: Run, after: Run) -> list[str] | None:
    """The lines in which the states at the end differ; None if one is gone or takes too long."""
    try:
        sides = [_state(principal, run) for run in (before, after)]
    except Purged:
        return None
    left, right = sides
    return None if left is None or right is None else _difference(left, right)


def _state(principal: Principal, run: Run) -> list[str] | None:
    result = states.read(principal, run, {}, seconds=SECONDS)
    if result.at < run.journal.head:
        return None
    return indented(patient_json.loads(result.state)).splitlines()[: 2 * LINES]


def _difference(before: list[str], after: list[str]) -> list[str]:
    lines = difflib.unified_diff(before, after, n=2, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++"))][:LINES]


def _input(run: Run) -> list[str]:
    body = patient_json.loads(run.input)
    for name in ("threadId", "runId"):
        body.pop(name, None)
    for message in body.get("messages") or ():
        message.pop("id", None)
    return indented(body).splitlines()[: 2 * LINES]
