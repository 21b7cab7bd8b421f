"""The status machine of a run: its transitions, and the status for each terminal event."""

from typing import Any
from uuid import UUID

from runs.models import Run, Status

MAX_CODE = 40

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset(
        {Status.SUCCEEDED, Status.INTERRUPTED, Status.CANCELLED, Status.FAILED}
    ),
}


def move(run_id: UUID, to: Status, **values: Any) -> int:
    """The conditional update behind every change of status: the first writer wins."""
    allowed = [status for status, targets in TRANSITIONS.items() if to in targets]
    return (
        Run.objects.already_found()
        .filter(pk=run_id, status__in=allowed)
        .update(status=to, **values)
    )


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
    """The columns for a RUN_ERROR; its code and message may be anything, a column takes no NUL."""
    code, message = terminal.get("code") or "", terminal["message"]
    return {
        "error_code": code.replace("\x00", "")[:MAX_CODE] or "error",
        "error_message": message.replace("\x00", ""),
    }
