"""The claim of a run that another worker has begun."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agui_host.protocol.encoding import Record
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.outline_kinds import RECOVERED
from agui_host.protocol.intake.fed import FedIntake
from agui_host.teams.limits import limits_of
from events import journal
from runs.lifecycle import history
from runs.lifecycle.lifecycle import Claimed
from runs.lifecycle.recovery import effects, restoring
from runs.models import Reason, Recovery, Run, Status

CUT_SHORT = {
    Reason.WORKER_LOST: "This was cut short: the worker that executed the run is gone.",
    Reason.SHUTDOWN: "This was cut short: the worker that executed the run was shut down.",
}


@dataclass(frozen=True, slots=True)
class Continued(Claimed):
    """A claimed run with the events of earlier attempts.

    ``so_far`` is their fold, ``cut`` are the ids of the parts that the last one left open, and
    ``records`` close those. ``effects`` are the number of the run's effects and their bytes;
    ``code_changed`` is whether the last one was started by another version of the agent.
    """

    number: int = 2
    so_far: Fold = field(default_factory=Fold)
    records: Sequence[Record] = ()
    cut: Sequence[str] = ()
    code_changed: bool = False


def claim(run_id: UUID, at: datetime, version: str = "") -> Continued | None:
    """Claim a run that was given to another worker; None if it was not, or has ended.

    A caller that tries again after an error passes the same ``at``. ``version``: of the agent's
    code here.
    """
    waiting = Recovery.objects.already_found().filter(run=run_id).order_by("-number")
    with transaction.atomic():
        claimed = journal.take_over(run_id)
        newest = waiting.select_for_update().first()
        taken = newest is not None and newest.taken_at not in (None, at)
        rows = Run.objects.already_found().select_related(
            "agent", "thread__history", "team__limits"
        )
        run = rows.filter(pk=run_id, status=Status.RUNNING).first()
        if claimed is None or newest is None or taken or run is None:
            transaction.set_rollback(True)
            return None
        waiting.filter(Q(taken_at=None), number=newest.number).update(taken_at=at)
    prepared = history.prepare(run, history.measured(run.thread_id, run.thread))
    intake, so_far = restoring.of_log(run, prepared, claimed.head)
    is_new = effects.last_version(run) not in ("", version)
    records, cut = _cut(intake, newest, is_new=is_new)
    return Continued(
        claimed, run, prepared, limits_of(run.team), [], intake, None, newest.number, so_far,
        records, cut, is_new,
    )  # fmt: skip


def _cut(intake: FedIntake, newest: Recovery, *, is_new: bool) -> tuple[list[Record], list[str]]:
    """Close the open parts, and tell readers that another worker continues."""
    if not intake.started:
        return [], []
    value: dict[str, Any] = {"attempt": newest.number, "reason": newest.reason}
    if is_new:
        value["codeChanged"] = True
    marker = {"type": "CUSTOM", "name": RECOVERED, "value": value}
    return intake.cut(CUT_SHORT[Reason(newest.reason)], marker)
