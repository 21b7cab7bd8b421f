"""A worker's row in ``runs_worker``: from its start to its end, with a heartbeat."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

REGISTER = """
insert into runs_worker (queues, free, link, scraped_at) values (%s, %s, %s, %s) returning id
"""
# One message: the chores of a worker live as long as it does.
BEAT = """
with chores as (
    update procrastinate_workers set last_heartbeat = now() where id = %(chores)s)
update runs_worker
   set heartbeat = now(), free = %(free)s, draining = %(draining)s, chores = %(chores)s
 where id = %(worker)s
"""
REMOVE = "select agui_end_worker(%s)"
PRESENT = "select id from runs_worker"


def register(
    queues: Sequence[str], free: int, link: UUID | None = None, scraped_at: str = ""
) -> int:
    """Register a worker of these queues; its new id. By its ``link`` it is handed runs.

    It answers scrapes at ``scraped_at``; empty: nowhere.
    """
    with connection.cursor() as cursor:
        cursor.execute(REGISTER, [list(queues), free, link, scraped_at])
        return int(cursor.fetchone()[0])


def beat(worker: int, chores: int | None, free: int, *, draining: bool) -> bool:
    """Renew a worker's heartbeat; False if it was given up."""
    with connection.cursor() as cursor:
        values = {"worker": worker, "chores": chores, "free": free, "draining": draining}
        cursor.execute(BEAT, values)
        return bool(cursor.rowcount)


def remove(worker: int) -> None:
    """End a worker's registrations. Waits for a take of the worker that is under way."""
    with connection.cursor() as cursor:
        cursor.execute(REMOVE, [worker])


def present() -> set[int]:
    """The workers that are registered."""
    with connection.cursor() as cursor:
        cursor.execute(PRESENT)
        return {worker for (worker,) in cursor.fetchall()}
