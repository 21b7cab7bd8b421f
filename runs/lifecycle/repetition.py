"""Runs of repeatable agents whose worker is gone are started again, as a new attempt.

The lost run stays as it ended: RUN_ERROR ``worker_lost`` or ``shutdown`` is the last event of its
journal, so every reader's stream is complete. The new attempt is a run with its own journal, under
the same thread, runId and input. Its input brings nothing new, which is how a client asks for
another answer: the lost attempt's messages leave the thread's history.

Only the thread's newest run is repeated: a newer one means that its user has moved on.

A run that the reaper ends is repeated in the same transaction, and its RUN_ERROR names the new run.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import Case, OuterRef, Subquery, UUIDField, When

from agui_host.backends.postgres import turns
from agui_host.protocol import patient_json
from agui_host.protocol.errors import HostError
from agui_host.protocol.input.run_agent_input import OnBusy, RunRequest
from agui_host.teams.limits import LimitReached
from runs.lifecycle import admission, ending, lifecycle, resume, thread_lock
from runs.lifecycle.recovery import handing
from runs.lifecycle.statements import new_run
from runs.lifecycle.steering import messages
from runs.models import WORKER_GONE, Run, Status

log = structlog.get_logger(__name__)

MOST_TRIES = 3
"""Starts of one request, including the first: a run that kills its worker must not continue."""
WITHIN = timedelta(hours=1)
"""A lost run stays lost if its team's limits prevented a restart for this long."""
LATELY = """
run.status = 'failed' and run.error_code in (%(lost)s, %(shutdown)s)
   and run.ended_at > now() - %(within)s
"""  # as in the index ``run_worker_gone``
TO_REPEAT = f"""
select run.journal_id, run.team_id
  from runs_run run join runtimes_agent agent on agent.id = run.agent_id
 where {LATELY} and run.tries < %(most)s
   and run.parent_id is null and run.cancel_requested_at is null and run.purged_at is null
   and agent.repeatable and agent.enabled
   and coalesce(nullif(agent.recovery, ''), agent.declared_recovery) <> 'continue'
   and not exists (
       select from runs_run newer
        where newer.thread_id = run.thread_id and newer.journal_id > run.journal_id)
"""  # noqa: S608
VALUES: dict[str, Any] = {
    **dict(zip(("lost", "shutdown"), WORKER_GONE, strict=True)),
    "within": WITHIN,
    "most": MOST_TRIES,
}
REPEATED_BY = Case(
    When(
        status=Status.FAILED,
        error_code__in=WORKER_GONE,
        then=Subquery(
            Run.objects.of_one_thread().filter(repeats=OuterRef("pk")).order_by().values("pk")[:1]
        ),
    ),
    output_field=UUIDField(),
)
"""The run that was started instead of each row's, for lists: see ``repeated_by``."""

_waiting: set[UUID] = set()
"""Teams whose lost runs wait for a limit, as the log has said."""


def sweep() -> list[UUID]:
    """Start again every run that should be repeated; the ids of the new runs. Idempotent."""
    with connection.cursor() as cursor:
        cursor.execute(f"{TO_REPEAT} order by run.journal_id", VALUES)
        lost = cursor.fetchall()
    limited: set[UUID] = set()  # teams that may not start now: none of their runs is tried again
    again = (_repeat_safely(run_id, team, limited) for run_id, team in lost)
    started = [run.pk for run in again if run]
    _waiting.intersection_update(limited)
    return started


def end_lost(run: Run, *, counts: bool = True) -> bool:
    """End a run whose worker is gone and, if it should be repeated, start it again with its end.

    So its RUN_ERROR can name the new run. If a limit or another start prevents the new run, the
    lost one ends by itself, and ``sweep`` tries again. False if the run has ended already. A run
    of an agent that continues gets another worker instead, until it has lost too many; ``counts``
    is whether this is one of those.
    """
    if handing.may(run):
        if run.parent_id is not None:
            return False  # It goes with its parent, which has lost the same worker.
        taken = handing.take_from_lost(run, counts=counts)
        return ending.end_lost(run, handing.last_words(run)) if taken is None else taken
    if run.agent.repeatable and run.tries < MOST_TRIES:
        try:
            if repeat(run.pk, partial(ending.ended_as_lost, run)) is not None:
                return True
        except (turns.NotYet, HostError, IntegrityError) as error:
            log.info("run.not_repeated", run=str(run.pk), reason=str(error))
    return lifecycle.end_lost(run)


def repeat(run_id: UUID, ends: Callable[[UUID], bool] = lambda _: True) -> Run | None:
    """Start a lost run again; None if it should not, or no longer, be repeated.

    ``ends`` is called under the thread's lock with the id of the new run, to end the lost one if
    that is to happen with the new start; nothing remains of it if the run is not repeated. Raises
    turns.NotYet while another request starts a run in its thread, and as ``start``.
    """
    rows = Run.objects.of_any_team()
    run: Run = rows.select_related("team", "agent", "thread").get(pk=run_id)
    body = patient_json.loads(run.input)
    request = RunRequest(
        run.thread.thread_id, run.run_id, None, OnBusy.ENQUEUE, body, run.request_digest
    )
    checked = resume.check(run.team, request.thread_id, body)
    with admission.starting(run.team_id):
        thread_lock.take(run.thread)
        # Checked only under the lock that every start takes: no process repeats it at the same
        # time, and no client continues the thread.
        new_id = new_run.next_id(run.thread_id)
        if not ends(new_id) or not is_due(run_id):
            transaction.set_rollback(True)
            return None
        starter = new_run.starter_of(run)
        started = lifecycle.make(
            run.team, run.agent, request, starter, None, checked, repeats=run, new_id=new_id
        )
        if not started.created:
            transaction.set_rollback(True)
            return None
        messages.send_again(run, started.run)
        admission.look_again(run.team_id)
    log.warning("run.repeated", run=str(started.run.pk), lost=str(run_id))
    return started.run


def is_due(run_id: UUID) -> bool:
    """Whether a run is lost and should be started again."""
    with connection.cursor() as cursor:
        cursor.execute(f"{TO_REPEAT} and run.journal_id = %(run)s", {**VALUES, "run": run_id})
        return cursor.fetchone() is not None


def repeated_by(run: Run) -> UUID | None:
    """The run that was started instead of this one; a query only if there may be one."""
    if run.status != Status.FAILED or run.error_code not in WORKER_GONE:
        return None
    rows = Run.objects.of_one_thread().filter(thread=run.thread_id, repeats=run.pk)
    key: UUID | None = rows.values_list("pk", flat=True).first()
    return key


def _repeat_safely(run_id: UUID, team: UUID, limited: set[UUID]) -> Run | None:
    """Repeat one run; log an error, so that the others are repeated. The next sweep tries again."""
    if team in limited:
        return None
    try:
        return repeat(run_id)
    except LimitReached as error:
        limited.add(team)
        if team not in _waiting:  # once, not with each sweep for an hour
            log.info("run.not_repeated", run=str(run_id), team=str(team), reason=str(error))
        _waiting.add(team)
    except (turns.NotYet, HostError, IntegrityError) as error:
        log.info("run.not_repeated", run=str(run_id), reason=str(error))
    except Exception:
        log.exception("run.not_repeated", run=str(run_id))
    return None
