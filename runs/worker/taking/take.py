"""Statements of a worker about its runs: take the next ones, find lost ones, look for cancels."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction

from agui_host.backends.postgres import clock
from runs.lifecycle.statements import claims
from runs.lifecycle.statements.claims import Claimed
from runs.models import IS_ACTIVE
from runs.worker.taking import registration

log = structlog.get_logger(__name__)

# The function is in runs/sql/taking.sql.
TAKE = """
select * from agui_take_due_runs(%(worker)s, %(queues)s::text[], %(at)s, %(most)s, true)
"""
# Children are looked after by their parents, fed runs by their producers.
NOT_HERE = f"""
 where run.worker = %(worker)s and run.{IS_ACTIVE} and run.parent_id is null
   and not exists (select from runs_ingest ingest where ingest.run_id = run.journal_id)
   and run.journal_id <> all(%(here)s)
"""
# An older search of this worker, whose answer was lost, must not take effect after a later one:
# runs have begun since that it does not know. Its row settles it.
SEARCH = """
mine as (
    update runs_worker set searches = %(number)s
     where id = %(worker)s and searches < %(number)s returning id)
"""
# Without a worker and not due: the reaper ends such a run or hands it on.
GIVE_UP = f"""
update runs_run set worker = null
 where journal_id = any(%(over)s) and worker = %(worker)s and {IS_ACTIVE}
"""  # noqa: S608
PUT_BACK = f"update runs_run run set worker = null, due_at = now() {NOT_HERE}"  # noqa: S608
PUT_BACK_ALL = f"with given_up as ({GIVE_UP}) {PUT_BACK} returning journal_id"
PUT_BACK_FOUND = f"""
with {SEARCH}, given_up as ({GIVE_UP} and exists (select from mine))
{PUT_BACK} and exists (select from mine) returning journal_id
"""  # noqa: S608
CANCELLED = f"""
select journal_id from runs_run run
 where run.worker = %(worker)s and run.{IS_ACTIVE} and run.cancel_requested_at is not null
   and run.parent_id is null
"""  # noqa: S608


class Taken(NamedTuple):
    """A run of this worker; ``claimed`` is set if the take has claimed it.

    ``generation`` is that of a claim of a run with a history, which has still to be read.
    """

    run: UUID
    team: UUID
    traceparent: str | None
    generation: int | None
    claimed: Claimed | None


def take(worker: int, queues: Sequence[str], most: int) -> list[Taken]:
    """Take runs of these queues, with what the executors of the claimed ones need.

    If the database goes away in between, the runs are this worker's, but not in its memory: then
    ``put_back`` finds them, and those whose logs are empty may be claimed again.
    """
    at = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"worker": worker, "queues": list(queues), "at": at, "most": most})
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [_taken(row | {"worker": worker}, at) for row in rows]


def _taken(row: dict[str, Any], at: datetime) -> Taken:
    is_whole = row["input"] is not None
    return Taken(
        row["run"], row["team"], row["traceparent"],
        generation=None if is_whole else row["generation"],
        claimed=_claimed(row, at) if is_whole else None,
    )  # fmt: skip


def _claimed(row: dict[str, Any], at: datetime) -> Claimed | None:
    """One run's trouble is none of the others': the reaper ends a run that nobody executes."""
    if row["generation"] is None:
        return None
    try:
        return claims.of_fresh_thread(row, at)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("run.unreadable", run=str(row["run"]))
        return None


def put_back(
    worker: int, number: int, here: Collection[UUID], over: Collection[UUID]
) -> list[UUID]:
    """Make runs due that are this worker's but not ``here``: the answer to a take was lost.

    ``over`` were executed here; one that has not ended is given up. ``number`` counts the worker's
    searches. Call it while nothing is being taken.
    """
    return _put_back(PUT_BACK_FOUND, worker, [*here, *over], over, number=number)


def leave(worker: int, over: Collection[UUID]) -> list[UUID]:
    """End the registration of a worker that executes nothing, and put back what it has taken.

    A take or a start that is still under way ends before: the registration's row waits for it.
    """
    with transaction.atomic():
        registration.remove(worker)
        return _put_back(PUT_BACK_ALL, worker, over, over)


def _put_back(
    statement: str, worker: int, here: Collection[UUID], over: Collection[UUID], **values: Any
) -> list[UUID]:
    values |= {"worker": worker, "here": list(here), "over": list(over)}
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [run for (run,) in cursor.fetchall()]


def cancelled(worker: int) -> set[UUID]:
    """The worker's runs whose cancel was requested."""
    with connection.cursor() as cursor:
        cursor.execute(CANCELLED, {"worker": worker})
        return {run for (run,) in cursor.fetchall()}
