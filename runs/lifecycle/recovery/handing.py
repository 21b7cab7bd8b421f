"""A run whose worker is gone is given to another one, under the same id and in the same log.

In one transaction the journal is fenced, its started effects become unverified, and the run is due
again; it stays ``running``.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from agui_host.protocol.intake.intake import Intake
from events import journal
from events.journal import Claim
from runs.lifecycle import admission, ending, jobs
from runs.lifecycle.recovery import families, restoring
from runs.models import ACTIVE, Reason, Recovery, Run

log = structlog.get_logger(__name__)

LONGEST_PAUSE = 3600.0
# A live worker has it, or it waits for one: the run is not lost (any more). Its job, if it has one,
# is for workers of the previous release.
HAS_WORKER = """
select from runs_run run
  left join runs_worker worker on worker.id = run.worker
  left join procrastinate_jobs job on job.id = run.job_id
  left join procrastinate_workers old on old.id = job.worker_id
 where run.journal_id = %(run)s
   and case
       when run.job_id is null then
           run.due_at is not null
           or worker.heartbeat >= now() - make_interval(secs => %(lost)s)
       else job.status = 'todo' or job.status = 'doing'
           and old.last_heartbeat >= now() - make_interval(secs => %(lost)s)
       end
"""
AGAIN = """
update runs_run run
   set worker = null, job_id = made.job, due_at = made.due, stamp = coalesce(run.stamp, 0)
  from agui_make_due(%(run)s, %(thread)s, %(queue)s, %(stamp)s, %(trace)s,
                     case when %(pause)s > 0 then now() + make_interval(secs => %(pause)s) end) made
 where run.journal_id = %(run)s
"""


def may(run: Run) -> bool:
    """Whether another worker can continue a run; a child continues with its parent only."""
    if run.parent_id is None or not run.agent.continues:
        return run.agent.continues
    parent = Run.objects.already_found().select_related("agent").get(pk=run.parent_id)
    return parent.status in ACTIVE and may(parent)


def take_from_lost(run: Run, *, counts: bool = True) -> bool | None:
    """Give a run whose worker is gone to another one; True if that, or its cancel, was done.

    False if it has a worker or has ended. None if it has lost too many workers: the caller ends it.
    ``counts``: the run may be the reason for the loss.
    """
    with transaction.atomic():
        claimed = journal.take_over(run.pk)
        if claimed is None:
            return False
        run = _locked(run)
        if _has_worker(run):
            transaction.set_rollback(True)
            return False
        if run.cancel_requested_at is not None:
            _cancel(run, claimed)
            return True
        losses = lost_workers(run)
        if counts and losses + 1 >= run.agent.recovery_attempts:
            transaction.set_rollback(True)
            return None
        families.note_attempt(run, claimed, Reason.WORKER_LOST, counts=counts)
        _hand_on(run, Reason.WORKER_LOST, _pause(run, losses) if counts else 0.0)
    log.warning("run.taken_from_lost_worker", run=str(run.pk), lost_workers=losses + counts)
    return True


def hand_over(run: Run, generation: int) -> bool:
    """Give a run of this worker, which is leaving, to another one; False if it has lost the run."""
    with transaction.atomic():
        claimed = journal.take_over(run.pk)
        if claimed is None or claimed.generation != generation + 1:
            transaction.set_rollback(True)
            return False
        run = _locked(run)
        if run.parent_id is None:
            families.note_attempt(run, claimed, Reason.SHUTDOWN)
            _hand_on(run, Reason.SHUTDOWN, 0.0)
        else:  # The parent follows, and its next attempt takes it.
            families.note_attempt(run, claimed, Reason.SHUTDOWN)
    log.info("run.handed_over", run=str(run.pk))
    return True


def graces(run_ids: Collection[UUID]) -> dict[UUID, float]:
    """The seconds that runs have when their worker is stopped: as their agents' rows say.

    Without a word of the row that is no time for a run that another worker can continue. Any other
    is not in the result: it has as long as the worker.
    """
    rows = Run.objects.of_any_team().filter(pk__in=run_ids, status__in=ACTIVE)
    seconds = {run.pk: _grace(run) for run in rows.select_related("agent")}
    return {run: grace for run, grace in seconds.items() if grace is not None}


def _grace(run: Run) -> float | None:
    if not may(run):
        return run.agent.worker_grace
    if run.parent_id is not None:
        # Handed over before its parent, it would wait for an attempt that has not come.
        return _grace(Run.objects.already_found().select_related("agent").get(pk=run.parent_id))
    return run.agent.worker_grace or 0.0


def lost_workers(run: Run) -> int:
    """How many workers a run has lost and outlived, without those that count for another run."""
    lost = Recovery.objects.already_found().filter(run=run.pk, reason=Reason.WORKER_LOST)
    count: int = lost.filter(counts=True).count()
    return count


def _locked(run: Run) -> Run:
    rows = Run.objects.already_found().select_related("thread", "agent", "team")
    row: Run = rows.select_for_update(of=("self",), no_key=True).get(pk=run.pk)
    return row


def _has_worker(run: Run) -> bool:
    if run.status not in ACTIVE:
        return True
    with connection.cursor() as cursor:
        values = {"run": run.pk, "lost": settings.AGUI_WORKER_LOST_AFTER}
        cursor.execute(HAS_WORKER, values)
        return cursor.fetchone() is not None


def _hand_on(run: Run, reason: Reason, pause: float) -> None:
    values: dict[str, Any] = {
        "run": run.pk,
        "thread": run.thread_id,
        "queue": run.agent.queue,
        "stamp": run.stamp or 0,
        "trace": run.traceparent,
        "pause": pause,
    }
    jobs.fail(run)
    with connection.cursor() as cursor:
        cursor.execute(AGAIN, values)
    families.take_along(run, reason)


def _pause(run: Run, losses: int) -> float:
    """The first worker that is lost costs no time: it is rarely the run's fault."""
    pause: float = run.agent.recovery_pause * 2 ** (losses - 1) if losses else 0.0
    return min(pause, LONGEST_PAUSE)


def _cancel(run: Run, claimed: Claim) -> None:
    intake: Intake = restoring.intake(run, claimed.head)
    ending.append(run, claimed, intake.cancel(), intake)
    jobs.fail(run)
    admission.made_room(run.team_id)


def last_words(run: Run) -> str:
    """Why a run that has lost its worker ends, for its readers."""
    if lost := lost_workers(run):
        apart = " The last of them executed no other run that had lost workers so." * (lost > 2)
        return f"The worker that executed this run is gone, as {lost} others before it.{apart}"
    return ending.GONE
