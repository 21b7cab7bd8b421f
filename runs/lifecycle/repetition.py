"""Runs of repeatable agents whose worker is gone are started again, as a new attempt.

The lost run stays as it ended: RUN_ERROR ``worker_lost`` or ``shutdown`` is the last event of its
journal, so every reader's stream is complete. The new attempt is a run with a journal of its own,
under the same thread, runId and input. Its input brings nothing new, which is how a client asks for
another answer: the lost attempt's messages leave the thread's history.

Only the thread's newest run is repeated: a newer one means that its user has moved on.
"""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, connection

from backends.postgres import turns
from protocol.errors import HostError
from protocol.input.run_agent_input import OnBusy, RunRequest
from runs.lifecycle import admission, lifecycle, resume, thread_lock
from runs.models import WORKER_GONE, Run
from teams.actors import Actor
from teams.limits import LimitReached

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
   and not exists (
       select from runs_run newer
        where newer.thread_id = run.thread_id and newer.journal_id > run.journal_id)
"""  # noqa: S608
VALUES: dict[str, Any] = {
    **dict(zip(("lost", "shutdown"), WORKER_GONE, strict=True)),
    "within": WITHIN,
    "most": MOST_TRIES,
}


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


def repeat(run_id: UUID) -> Run | None:
    """Start a lost run again; None if it should not, or no longer, be repeated.

    Raises turns.NotYet while another request starts a run in its thread, and as ``start``.
    """
    rows = Run.objects.of_any_team()
    run: Run = rows.select_related("team", "agent", "thread").get(pk=run_id)
    body = json.loads(run.input)
    request = RunRequest(
        run.thread.thread_id, run.run_id, None, OnBusy.ENQUEUE, body, run.request_digest
    )
    checked = resume.check(run.team, request.thread_id, body.get("resume", []))
    with admission.starting(run.team_id):
        thread_lock.take(run.thread)
        # Checked only under the lock that every start takes: nobody repeats it at the same time,
        # and no client continues the thread.
        with connection.cursor() as cursor:
            cursor.execute(f"{TO_REPEAT} and run.journal_id = %(run)s", {**VALUES, "run": run_id})
            if cursor.fetchone() is None:
                return None
        starter = Actor(run.started_by, run.starter)
        started = lifecycle.make(run.team, run.agent, request, starter, None, checked, repeats=run)
    log.warning("run.repeated", run=str(started.run.pk), lost=str(run_id))
    return started.run if started.created else None


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
