"""A run whose worker is gone is given to another one, under the same id and in the same log.

In one transaction the journal is fenced, its started effects become unverified, and the run gets
another job; it stays ``running``. The old job ends with it: an attempt that wakes up late ends that
one, and not its successor's.
"""

from collections.abc import Collection
from typing import Any

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
# Of a job that a live worker has, or that waits for one: the run is not lost (any more).
HAS_WORKER = """
select from procrastinate_jobs job
  left join procrastinate_workers worker on worker.id = job.worker_id
 where job.id = %(job)s and (job.status = 'todo' or job.status = 'doing'
       and worker.last_heartbeat >= now() - make_interval(secs => %(lost)s))
"""
NEXT_JOB = """
select (procrastinate_defer_jobs_v1(array[row(
    %(queue)s, %(task)s, coalesce((select priority from procrastinate_jobs where id = %(job)s), 0),
    %(lock)s, null,
    coalesce((select args from procrastinate_jobs where id = %(job)s),
             jsonb_build_object('run_id', %(run)s::text)),
    case when %(pause)s > 0 then now() + make_interval(secs => %(pause)s) end
)::procrastinate_job_to_defer_v1]))[1]
"""


def may(run: Run) -> bool:
    """Whether another worker can continue a run; a child continues with its parent only."""
    if run.parent_id is None or not run.agent.continues:
        return run.agent.continues
    parent = Run.objects.already_found().select_related("agent").get(pk=run.parent_id)
    return parent.status in ACTIVE and may(parent)


def take_from_lost(run: Run) -> bool | None:
    """Give a run whose worker is gone to another one; True if that, or its cancel, was done.

    False if it has a worker or has ended. None if it has lost too many workers: the caller ends it.
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
        if losses + 1 >= run.agent.recovery_attempts:
            transaction.set_rollback(True)
            return None
        _hand_on(run, claimed, Reason.WORKER_LOST, _pause(run, losses))
    log.warning("run.taken_from_lost_worker", run=str(run.pk), lost_workers=losses + 1)
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
            _hand_on(run, claimed, Reason.SHUTDOWN, 0.0)
        else:  # The parent follows, and gives it its next job.
            families.note_attempt(run, claimed, Reason.SHUTDOWN)
    log.info("run.handed_over", run=str(run.pk))
    return True


def jobs_of_continued(job_ids: Collection[int]) -> set[int]:
    """Those of a worker's jobs whose runs another worker can continue."""
    rows = Run.objects.of_any_team().filter(job_id__in=job_ids, parent=None, status__in=ACTIVE)
    return {
        run.job_id for run in rows.select_related("agent") if run.job_id and run.agent.continues
    }


def lost_workers(run: Run) -> int:
    """How many workers a run has lost and outlived."""
    count: int = (
        Recovery.objects.already_found().filter(run=run.pk, reason=Reason.WORKER_LOST).count()
    )
    return count


def _locked(run: Run) -> Run:
    rows = Run.objects.already_found().select_related("thread", "agent", "team")
    row: Run = rows.select_for_update(of=("self",), no_key=True).get(pk=run.pk)
    return row


def _has_worker(run: Run) -> bool:
    if run.status not in ACTIVE:
        return True
    with connection.cursor() as cursor:
        values = {"job": run.job_id, "lost": settings.AGUI_WORKER_LOST_AFTER}
        cursor.execute(HAS_WORKER, values)
        return cursor.fetchone() is not None


def _hand_on(run: Run, claimed: Claim, reason: Reason, pause: float) -> None:
    families.note_attempt(run, claimed, reason)
    values: dict[str, Any] = {
        "queue": jobs.queue_of(run.agent.queue),
        "task": jobs.TASK,
        "job": run.job_id,
        "run": run.pk,
        "lock": str(run.thread_id),
        "pause": pause,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEXT_JOB, values)
        (job,) = cursor.fetchone()
    jobs.fail(run)
    Run.objects.already_found().filter(pk=run.pk).update(job_id=job)
    families.take_along(run, reason, job)


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
        return f"The worker that executed this run is gone, as {lost} others before it."
    return ending.GONE
