"""The status machine of a run: its transitions, and the status for each terminal event."""

from typing import Any

import structlog

from agui_host.backends import metrics
from agui_host.backends.postgres import clock
from agui_host.protocol.errors import RunErrorCode
from runs.models import Run, Status

log = structlog.get_logger(__name__)
MAX_CODE = 40
OUR_CODES = frozenset(code.value for code in RunErrorCode)

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset(
        {Status.SUCCEEDED, Status.INTERRUPTED, Status.CANCELLED, Status.FAILED}
    ),
}


def leading_to(status: Status) -> list[str]:
    """The statuses that may change to this one: every such change is a conditional update."""
    return [before.value for before, targets in TRANSITIONS.items() if status in targets]


def status_of(terminal: dict[str, Any]) -> Status:
    """The status for a terminal event."""
    if terminal["type"] == "RUN_ERROR":
        return Status.FAILED
    outcome = (terminal.get("outcome") or {}).get("type", "success")
    return {
        "success": Status.SUCCEEDED,
        "interrupt": Status.INTERRUPTED,
        "cancelled": Status.CANCELLED,
    }[outcome]


def error_of(terminal: dict[str, Any]) -> dict[str, str]:
    """The columns for a RUN_ERROR; its code and message can be anything, a column takes no NUL."""
    code, message = terminal.get("code") or "", terminal["message"]
    return {
        "error_code": code.replace("\x00", "")[:MAX_CODE] or "error",
        "error_message": message.replace("\x00", ""),
    }


def log_end(run: Run, terminal: dict[str, Any], events: int) -> None:
    """Log and count that a run has ended, once that is committed, without a statement.

    Nothing of it is text of its agent or user, so a code of the agent's own is only ``other``.
    """
    status, code = status_of(terminal), terminal.get("code")
    slug = run.agent.slug if Run.agent.is_cached(run) else None
    ran = clock.seconds() - run.started_at.timestamp() if run.started_at else None
    error = (code if code in OUR_CODES else "other") if status is Status.FAILED else None
    waited = (run.started_at - run.created_at).total_seconds() if run.started_at else 0.0
    metrics.count_end(status.value, error or "", slug, waited, ran)
    log.info(
        "run.ended",
        run=str(run.pk),
        agent=slug or str(run.agent_id),
        team=str(run.team_id),
        status=status.value,
        seconds=None if ran is None else round(ran, 3),
        events=events,
        error=error,
    )
