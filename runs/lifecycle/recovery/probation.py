"""Runs on probation: one of them may be the reason why its workers die.

A run that has lost two workers, the last one soon, is executed with few such runs beside it, and
then with none (``agui_group``). If its worker dies all the same, the loss counts for these runs
alone, so a run that kills every worker ends by itself and not with all that happened to be there.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection

SUSPECTS = """
select run.worker, run.journal_id from runs_run run
  left join unnest(%s::bigint[], %s::timestamptz[]) silent (worker, heartbeat)
    on silent.worker = run.worker
 where run.journal_id = any(%s::uuid[]) and run.worker is not null
   and agui_group(run.journal_id, coalesce(silent.heartbeat, clock_timestamp())) is not null
"""


def suspects(lost: Collection[UUID], heartbeats: Mapping[int, datetime]) -> dict[int, set[UUID]]:
    """The runs on probation among these, by the worker that they have lost.

    A worker died about when it beat last (``heartbeats``); without that, a moment ago.
    """
    by_worker: dict[int, set[UUID]] = {}
    with connection.cursor() as cursor:
        cursor.execute(SUSPECTS, [list(heartbeats), list(heartbeats.values()), list(lost)])
        for worker, run in cursor.fetchall():
            by_worker.setdefault(worker, set()).add(run)
    return by_worker
