"""A worker ends jobs, fetches others and claims their runs, many at a time, in one message.

Procrastinate's own fetch takes one job and asks once more whether there is another, the end of a
job is a message of its own, and so was the claim of each run. ``Taking`` is its job manager here.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import Error, InterfaceError, OperationalError, connection
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db
from runs.lifecycle import jobs
from runs.lifecycle.statements import claims
from runs.lifecycle.statements.claims import Claimed

log = structlog.get_logger(__name__)

CLAIMS = "claims"
"""In a job's context: the runs that were claimed with their jobs, by the job's id."""
MOST = 4
"""Jobs of one fetch. A worker that finds many begins them in small groups: the events of its other
runs, and other workers, get their turns in between. With 16, fifty starts at a time were a fifth
slower, since all waited for each other."""
REST = 0.02
"""Seconds between two fetches while a worker executes runs of several teams, one job each. What one
of them has queued up, while no worker was there, would take the processors for seconds otherwise,
and with them the others' events."""
ANNOUNCED = 200
"""Ends of jobs whose notification may still come."""
# The function is in runs/sql/taking.sql.
FETCH = """
select * from agui_fetch(%(ended)s::bigint[], %(queues)s::varchar[], %(worker)s, %(task)s, %(at)s,
                         %(most)s)
"""
END = "delete from procrastinate_jobs where id = any(%(ended)s)"


class Fetch(NamedTuple):
    """What a fetch is to do: end these jobs, and take at most so many of these queues (or all)."""

    ended: list[int]
    queues: list[str] | None
    worker: int
    most: int


class Fetched(NamedTuple):
    """A job of this worker and, if it was claimed with its job, the run."""

    id: int
    job: Job
    claimed: Claimed | None


class Taking(JobManager):
    """Hands out jobs one by one, and fetches as many as there are free slots."""

    def __init__(
        self,
        connector: BaseConnector,
        free: Callable[[], int],
        wakeups: Callable[[], int],
        registered: Callable[[int], object] = lambda _: None,
    ) -> None:
        """``free``: how many runs have room. ``wakeups``: how often the worker was woken so far.

        ``registered`` is called with the worker's id before the worker fetches anything.
        """
        super().__init__(connector)
        self._registered = registered
        self._free, self._wakeups = free, wakeups
        self._jobs: deque[Fetched] = deque()
        self._empty_at: int | None = None
        self._fetched_at = float("-inf")
        self._team_of: dict[int, UUID] = {}
        """Teams of the runs that are executed here, by job."""
        self.ended: set[int] = set()
        """Jobs whose end goes along with the next fetch."""
        self._announced: deque[int] = deque(maxlen=ANNOUNCED)
        self.claims: dict[int, Claimed] = {}

    async def register_worker(self) -> int:
        """Register the worker; its new id."""
        worker_id: int = await super().register_worker()
        self._registered(worker_id)
        return worker_id

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job; none while no run has room. Raises ConnectorException."""
        if not self._jobs and self._wakeups() != self._empty_at and self._free() > 0:
            await self._fetch(queues, worker_id)
        if not self._jobs:
            return None
        fetched = self._jobs.popleft()
        if fetched.claimed is not None:
            self.claims[fetched.id] = fetched.claimed
            self._team_of[fetched.id] = fetched.claimed.run.team_id
        return fetched.job

    async def _fetch(self, queues: Iterable[str] | None, worker_id: int) -> None:
        most = min(MOST, self._free())
        if len(set(self._team_of.values())) > 1:
            most = 1
            await asyncio.sleep(self._fetched_at + REST - time.monotonic())
        wakeups, ended = self._wakeups(), list(self.ended)
        call = Fetch(ended, None if queues is None else list(queues), worker_id, most)
        self._announced.extend(ended)  # their notifications may come before the answer
        try:
            taken = await db(_take, call)
        except Error as error:
            raise ConnectorException from error
        self.ended.difference_update(ended)
        # A worker that is woken during the fetch asks again: it may have come too late.
        self._empty_at = wakeups if len(taken) < most else None
        self._jobs.extend(taken)
        if taken:
            self._fetched_at = time.monotonic()

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """End a job; that of a run with the next fetch, for which its end wakes the worker."""
        self._team_of.pop(job.id or 0, None)
        if job.task_name == jobs.TASK and delete_job and job.id is not None:
            self.ended.add(job.id)
        else:
            await super().finish_job(job, status, delete_job)

    async def flush(self) -> None:
        """End the jobs of runs that no fetch will end any more."""
        if self.ended:
            ended = list(self.ended)
            await self.connector.execute_query_async(END, ended=ended)
            self.ended.difference_update(ended)

    def is_news(self, job_id: int) -> bool:
        """Whether a notification about this job is a reason to fetch.

        That one of our own has ended is none: the same message has fetched behind it.
        """
        if job_id in self._announced:
            self._announced.remove(job_id)
            return False
        return True

    def look_again(self) -> None:
        """Let the next fetch ask the database, even if nothing has woken the worker."""
        self._empty_at = None

    def left(self) -> Iterator[int]:
        """Take back the jobs that were fetched but not handed out; their ids."""
        while self._jobs:
            yield self._jobs.popleft().id


def _take(fetch: Fetch) -> list[Fetched]:
    """End and fetch jobs, with what the executors of the claimed runs need.

    If the database goes away in between, the jobs are this worker's, but not in its memory: then
    they are put back, and their runs, whose logs are empty, may be claimed again.
    """
    at = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(FETCH, {**fetch._asdict(), "task": jobs.TASK, "at": at})
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    taken = []
    for row in rows:
        row["args"] = json.loads(row["args"])
        claimed = None if row["generation"] is None else _claimed(row, at)
        taken.append(Fetched(row["id"], Job.from_row(row), claimed))
    return taken


def _claimed(row: dict[str, Any], at: datetime) -> Claimed | None:
    """One run's trouble is none of the others': the reaper ends a run that nobody executes."""
    try:
        return claims.of_fresh_thread(row, at)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("run.unreadable", run=str(row["run"]))
        return None
