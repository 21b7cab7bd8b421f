"""Why a run failed, on its page: a sentence, the agent's exception, what happened just before."""

import json
from dataclasses import dataclass
from typing import Any

from agui_host.dashboard.outline_panel import SECONDS
from agui_host.protocol.fold.outline_kinds import ERROR, STEP, TOOL, WHOLE
from agui_host.protocol.fold.outline_row import FAILED, UNFINISHED
from agui_host.teams.authentication import Principal
from events.journal import Purged
from runs.access.inspect import failures, outlines
from runs.models import Run

BEFORE = 10
"""Rows of the outline before the error."""
EVENTS = 500
"""They are looked for among so many of the last events."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """``details`` are those of ``failures``, ``rows`` the last ones before the error.

    ``alike`` are the runs that failed in the same way, if there are any.
    """

    sentence: str
    details: dict[str, Any]
    rows: list[Row]
    alike: failures.Alike | None


def panel(principal: Principal, run: Run) -> Panel | None:
    """The panel of a failed run; None for visitors who may not see the reason."""
    details = failures.for_page(principal, run)
    if details is None:
        return None
    rows = _before(principal, run)
    sentence = _sentence(run.agent.slug, details["exception"], rows)
    return Panel(sentence, details, rows, failures.alike(principal, run))


def _before(principal: Principal, run: Run) -> list[Row]:
    since = max(0, run.journal.head - EVENTS)
    try:
        part = outlines.read(principal, run, {"since": str(since)}, seconds=SECONDS)
    except Purged:
        return []
    rows: list[Row] = [json.loads(row) for row in part.rows[-BEFORE - len(WHOLE) - 1 :]]
    rows = [row for row in rows if row["kind"] not in WHOLE]
    return [row for row in rows if row["kind"] != ERROR or row["id"]][-BEFORE:]


def _sentence(agent: str, exception: str | None, rows: list[Row]) -> str:
    name = (exception or "").rpartition(".")[2]
    what = f"{agent} raised {name}" if name else f"{agent} ended with an error"
    tool = next((row for row in reversed(rows) if row["kind"] == TOOL), None)
    step = next((row for row in reversed(rows) if _is_cut_off(row)), None)
    if tool is not None and tool["result"] is None:
        what += f" before the tool call {tool['name']} had a result"
    elif tool is not None:
        what += f" after the tool call {tool['name']}"
    return what + (f", in the step {step['name']}." if step is not None else ".")


def _is_cut_off(row: Row) -> bool:
    return row["kind"] == STEP and row["status"] in (UNFINISHED, FAILED)
