"""Runs on probation: one of them may be the reason why its workers die.

A run that has lost two workers, the last one soon, is executed with few such runs beside it, and
then with none (``agui_group``). If its worker dies all the same, the loss counts for these runs
alone, so a run that kills every worker ends by itself and not with all that happened to be there.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import connection

SUSPECTS = """
select run.worker, run.journal_id from runs_run run
  left join runs_worker worker on worker.id = run.worker
 where run.journal_id = any(%s::uuid[]) and run.worker is not null
   and agui_group(run.journal_id, coalesce(worker.heartbeat, clock_timestamp())) is not null
"""


def suspects(lost: Collection[UUID]) -> dict[int, set[UUID]]:
    """The runs on probation among these, by the worker that they have lost."""
    by_worker: dict[int, set[UUID]] = {}
    with connection.cursor() as cursor:
        cursor.execute(SUSPECTS, [list(lost)])
        for worker, run in cursor.fetchall():
            by_worker.setdefault(worker, set()).add(run)
    return by_worker
