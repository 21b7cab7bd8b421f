"""JournalWriter: group commit for all runs of a process, in one thread on one Django connection.

While one commit is in flight the next batch fills up: no timer, and no added delay when idle.
A failing batch is repeated run by run, so that only the culprit ends. After a lost connection
the batch is tried again under the same fence until the database answers.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from psycopg.errors import DiskFull

from agui_project import bell
from agui_project.errors import HostError
from agui_project.postgres.base import own_connection
from agui_project.postgres.deadlines import Demoted
from events import announce, journal
from events.journal import Batch, Claim
from events.lease import Also, AppendFailed, Lease, LostLease

log = structlog.get_logger(__name__)

COMMIT_ROWS = 2_000
RETRY_SECONDS = (0.05, 0.2, 0.5, 1.0)
DEADLINE = 8.0
TRANSACTION_SECONDS = 30

Work = list[tuple[Batch, list[Also]]]
Verdicts = dict[UUID, HostError | None]
Then = Callable[[list[Any]], object]


class JournalWriter:
    """The worker's only way to append. ``run`` it beside the worker; ``close`` it after."""

    def __init__(self, then: Then | None = None) -> None:
        """``then`` ends each transaction in which verbs returned something: it gets all of that
        at once, so that locks which several runs want can be taken in one order."""
        self._then = then
        self._enlisted: dict[Lease, None] = {}
        self._wake = asyncio.Event()
        self._closing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal-writer")
        self._bell: asyncio.Queue[list[tuple[str, bell.Message]]] = asyncio.Queue(64)
        self.commits = 0
        self.rows = 0

    def open(self, claim: Claim) -> Lease:
        """A lease for a claimed journal."""
        return Lease(self, claim)

    def enlist(self, lease: Lease) -> None:
        """Remember that ``lease`` has records waiting (called by ``Lease.append``)."""
        self._enlisted[lease] = None
        self._wake.set()

    async def run(self) -> None:
        """Commit until ``close``; whatever was appended before is committed first."""
        ringing = asyncio.create_task(self._ring(), name="bell")
        try:
            while self._enlisted or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                while self._enlisted:
                    await self._commit_next()
            await self._bell.join()
        finally:
            ringing.cancel()
            with suppress(asyncio.CancelledError):
                await ringing
            await asyncio.get_running_loop().run_in_executor(self._thread, _disconnect)
            self._thread.shutdown(wait=False)

    def close(self) -> None:
        """Let ``run`` return once everything is committed."""
        self._closing = True
        self._wake.set()

    async def _commit_next(self) -> None:
        leases, work = self._next_batch()
        loop = asyncio.get_running_loop()
        verdicts = await loop.run_in_executor(self._thread, _commit, work, self._then)
        told = []
        for lease, (batch, _) in zip(leases, work, strict=True):
            error = verdicts[batch.journal_id]
            lease.settle(batch, error)
            if error is None:
                told.append(announce.message(batch))
                self.rows += len(batch.records)
        self.commits += 1
        if told:
            with suppress(asyncio.QueueFull):
                self._bell.put_nowait(told)

    def _next_batch(self) -> tuple[list[Lease], Work]:
        """At most ``COMMIT_ROWS`` rows, first come first served; the rest stays enlisted."""
        leases: list[Lease] = []
        work: Work = []
        rows = 0
        while self._enlisted and rows < COMMIT_ROWS:
            lease = next(iter(self._enlisted))
            del self._enlisted[lease]
            if lease.waiting:
                leases.append(lease)
                work.append(lease.take())
                rows += len(work[-1][0].records)
        return leases, work

    async def _ring(self) -> None:
        """Ring the bell beside the commits: a dead or frozen Redis never delays one."""
        while True:
            items = await self._bell.get()
            await bell.ring(items)
            self._bell.task_done()


def _commit(work: Work, then: Then | None) -> Verdicts:
    """Commit in the writer's thread; a verdict per journal."""
    if not work:
        return {}
    _connect()
    for delay in (*RETRY_SECONDS, None):
        try:
            return _with_room(work, then, again=delay != RETRY_SECONDS[0])
        except (OperationalError, InterfaceError) as error:
            while not _usable():
                log.warning("writer.reconnecting", error=str(error))
                connection.close()
                time.sleep(delay or RETRY_SECONDS[-1])
            if delay is None:
                return _one_by_one(work, then, error)
        except Exception as error:
            return _one_by_one(work, then, error)
    raise AssertionError("unreachable")


def _with_room(work: Work, then: Then | None, *, again: bool) -> Verdicts:
    """``_transact``; it waits for room on a full disk, and for a server that writes, as it does
    for a database that is away."""
    while True:
        try:
            return _transact(work, then, again=again)
        except OperationalError as error:
            if not isinstance(error.__cause__, DiskFull | Demoted):
                raise
            full = isinstance(error.__cause__, DiskFull)
            log.warning("writer.disk_full" if full else "writer.read_only", error=str(error))
            time.sleep(RETRY_SECONDS[-1])


def _transact(work: Work, then: Then | None, *, again: bool) -> Verdicts:
    batches: Sequence[Batch] = [batch for batch, _ in work]
    with transaction.atomic():
        done = journal.confirm(batches) if again else set()
        held = journal.append([batch for batch in batches if batch.journal_id not in done])
        verbs = [verb for batch, also in work if batch.journal_id in held for verb in also]
        returned = [found for verb in verbs if (found := verb()) is not None]
        if then is not None and returned:
            then(returned)
    kept = held | done
    return {
        batch.journal_id: None if batch.journal_id in kept else LostLease() for batch in batches
    }


def _one_by_one(work: Work, then: Then | None, error: Exception) -> Verdicts:
    """Give each run a transaction of its own; only the one that cannot be stored is told so."""
    if len(work) == 1:
        log.error("writer.refused", journal=str(work[0][0].journal_id), exc_info=error)
        return {work[0][0].journal_id: AppendFailed()}
    verdicts: Verdicts = {}
    for item in work:
        verdicts |= _commit([item], then)
    return verdicts


def _connect() -> None:
    """Give this thread a connection outside the pool, named so that a takeover can find it."""
    own_connection(
        journal.WRITER_APPLICATION, deadline=DEADLINE, transaction_seconds=TRANSACTION_SECONDS
    )


def _usable() -> bool:
    try:
        connection.ensure_connection()
        return connection.is_usable()
    except (OperationalError, InterfaceError):
        return False


def _disconnect() -> None:
    connection.close()
