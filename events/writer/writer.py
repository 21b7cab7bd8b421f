"""JournalWriter: group commit for all runs of a process, in one thread on one Django connection.

While one commit is in flight the next batch fills up. Further deltas of messages are also gathered
over ``SPACING`` since the commit before (docs/adr/0017); all else is committed at once, at most
2 ms later when idle.
Runs whose next batch is heavy are committed apart, in a second thread, so that other runs' events
do not wait until PostgreSQL has read and stored it. ``events.writer.commits`` stores a group, and
decides what happens if the database refuses it or is away.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection

from agui_host.backends import bell, interpreter, metrics
from agui_host.backends.postgres.base import own_connection
from events import announce
from events.journal import Batch, Claim
from events.writer.commits import DEADLINE, Blocked, Committer, Look, Verdicts, Work
from events.writer.lease import Lease

log = structlog.get_logger(__name__)

COMMIT_ROWS = 500
"""Rows of a commit; one of 1,000 takes 100 ms."""
HEAVY, HEAVIEST = 32 * 1024, 1024 * 1024
"""Weights of a batch that is committed apart, and of several of them in one commit."""
AFTER_COMMIT = "agui-after-commit"
BLOCKED_RESTS = 0.1
"""Seconds until the next try for a run that another transaction blocks."""
THEN_SECONDS = 5.0
"""How long ``run`` waits at its end for the follow-up of the last commits."""

SPACING = 0.012
"""Seconds from one commit to another of deltas only, so that those of several runs share it."""
GATHER_TURNS, GATHER_SECONDS = 10, 0.002
"""How many turns of the event loop an idle writer waits for more; a busy loop's turns are long."""


class FollowUp(NamedTuple):
    """The work after a commit that ends journals.

    ``look`` makes a statement whose rows tell what there is to do for them, in the commit's own
    message if that is small; ``act`` does it. That has its own thread and connection, so that no
    commit waits for it; it may fail, and it is not done if the process dies.
    """

    look: Look
    act: Callable[[list[Any]], object]


class Lane:
    """A thread with its own connection that commits."""

    def __init__(self, look: Look | None) -> None:
        self._committer = Committer(look)
        self._thread = ThreadPoolExecutor(1, "journal-writer", interpreter.wake_soon)

    async def commit(self, work: Work, alone: bool) -> Verdicts:
        """Store the batches; see ``Committer.commit``."""
        commit = partial(self._committer.commit, work, alone=alone)
        return await asyncio.get_running_loop().run_in_executor(self._thread, commit)

    def take_ended(self) -> tuple[list[UUID], list[Any]]:
        """The journals that have ended since the last call, and what ``look`` has returned."""
        committer = self._committer
        ended = committer.to_look_at, committer.rows
        committer.to_look_at, committer.rows = [], []
        return ended

    async def close(self) -> None:
        """Close the connection, in its thread, and end that."""
        await asyncio.get_running_loop().run_in_executor(self._thread, _disconnect)
        self._thread.shutdown(wait=False)


class JournalWriter:
    """The worker's only way to append. ``run`` it next to the worker; ``close`` it after."""

    def __init__(self, follow_up: FollowUp | None = None) -> None:
        self._follow_up = follow_up
        self._ended: asyncio.Queue[tuple[list[UUID], list[Any]]] = asyncio.Queue()
        self._enlisted: dict[Lease, None] = {}
        self._blocked: dict[Lease, bool] = {}  # whether it has rested
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._committed_at = 0.0  # by the loop's clock
        self._closing = False
        self._group, self._apart = (Lane(follow_up and follow_up.look) for _ in range(2))
        self._heavy: dict[Lease, None] = {}  # leases that ``_apart`` commits, in their order
        self._heavy_wake = asyncio.Event()
        self._after = ThreadPoolExecutor(1, thread_name_prefix="after-commit")
        self._bell: asyncio.Queue[list[tuple[str, bell.Message]]] = asyncio.Queue(64)
        self.commits = 0
        self.rows = 0

    def open(self, claim: Claim) -> Lease:
        """A lease for a claimed journal."""
        return Lease(self.enlist, claim)

    def announce(self, batch: Batch) -> None:
        """Ring for a batch that another connection of this process has committed."""
        with suppress(asyncio.QueueFull):
            self._bell.put_nowait([announce.message(batch)])

    def is_blocked(self, journal_id: UUID) -> bool:
        """Whether another transaction locks a row that this journal's next events need."""
        return any(lease.journal_id == journal_id for lease in self._blocked)

    def enlist(self, lease: Lease) -> None:
        """Note that ``lease`` has records waiting (called by ``Lease.append``)."""
        if lease not in self._blocked and lease not in self._heavy:
            self._enlisted[lease] = None
            self._wake.set()
            if lease.urgent:
                self._hurry.set()

    async def run(self) -> None:
        """Commit until ``close``; everything appended before is committed first."""
        beside = [
            asyncio.create_task(self._ring(), name="bell"),
            asyncio.create_task(self._follow(), name="after-commit"),
        ]
        storing = asyncio.create_task(self._store_heavy(), name="heavy-batches")
        storing.add_done_callback(lambda _: self._wake.set())
        try:
            while self._enlisted or self._blocked or self._heavy or not self._closing:
                await self._wake.wait()
                self._wake.clear()
                if storing.done():
                    storing.result()
                await _gather()
                while self._enlisted or True in self._blocked.values():
                    await self._try_blocked()
                    await self._gather_deltas()
                    leases, work = self._next_batch()
                    if leases:
                        await self._commit(self._group, leases, work)
            await self._bell.join()
            with suppress(TimeoutError):
                async with asyncio.timeout(THEN_SECONDS):
                    await self._ended.join()
        finally:
            for task in (*beside, storing):
                task.cancel()
            await asyncio.gather(*beside, storing, return_exceptions=True)
            await self._group.close()
            await self._apart.close()
            self._after.submit(_disconnect)
            self._after.shutdown(wait=False)

    def close(self) -> None:
        """Let ``run`` return once everything is committed."""
        self._closing = True
        self._wake.set()
        self._hurry.set()

    async def _commit(
        self, lane: Lane, leases: list[Lease], work: Work, *, alone: bool = False
    ) -> None:
        with metrics.append_seconds.time():
            verdicts = await lane.commit(work, alone)
        metrics.append_events.observe(sum(len(batch.records) for batch, _ in work))
        stored = []
        for lease, (batch, also) in zip(leases, work, strict=True):
            error = verdicts[batch.journal_id]
            if isinstance(error, Blocked):
                self._rest(lease)
                lease.put_back(batch, also)
                continue
            lease.settle(batch, error)
            if error is None:
                stored.append(batch)
                self.rows += len(batch.records)
        self.commits += 1
        self._committed_at = asyncio.get_running_loop().time()
        if stored:
            with suppress(asyncio.QueueFull):
                self._bell.put_nowait([announce.message(batch) for batch in stored])
        if any(ended := lane.take_ended()):
            self._ended.put_nowait(ended)

    async def _store_heavy(self) -> None:
        """Commit runs with heavy batches next to the groups, a few at once."""
        while True:
            while leases := self._next_heavy():
                await self._commit(self._apart, leases, [lease.take() for lease in leases])
                for lease in leases:
                    del self._heavy[lease]
                    if lease.waiting:
                        self.enlist(lease)
                self._wake.set()
            self._heavy_wake.clear()
            await self._heavy_wake.wait()

    def _next_heavy(self) -> list[Lease]:
        leases: list[Lease] = []
        journals = set[UUID]()
        weight = 0
        for lease in self._heavy:
            weight += lease.weight
            if leases and (weight > HEAVIEST or lease.journal_id in journals):
                break
            leases.append(lease)
            journals.add(lease.journal_id)
        return leases

    def _rest(self, lease: Lease) -> None:
        if lease not in self._blocked:
            log.warning("writer.blocked", journal=str(lease.journal_id))
        self._blocked[lease] = False
        self._enlisted.pop(lease, None)
        asyncio.get_running_loop().call_later(BLOCKED_RESTS, self._rested, lease)

    def _rested(self, lease: Lease) -> None:
        self._blocked[lease] = True
        self._wake.set()

    async def _gather_deltas(self) -> None:
        """Wait for other runs' deltas until ``SPACING`` is over, or anything else is enlisted."""
        self._hurry.clear()
        if self._closing or not self._enlisted or any(lease.urgent for lease in self._enlisted):
            return
        rest = self._committed_at + SPACING - asyncio.get_running_loop().time()
        if rest > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._hurry.wait()

    async def _try_blocked(self) -> None:
        """Try one run that was blocked: between two groups the others wait for one at most."""
        lease = next((lease for lease, rested in self._blocked.items() if rested), None)
        if lease is None:
            return
        await self._commit(self._group, [lease], [lease.take()], alone=True)
        if self._blocked[lease]:  # it did not go back to rest
            del self._blocked[lease]
            if lease.waiting:
                self.enlist(lease)

    def _next_batch(self) -> tuple[list[Lease], Work]:
        """At most ``COMMIT_ROWS`` rows, first come first served; the rest stays enlisted."""
        leases: list[Lease] = []
        work: Work = []
        rows = 0
        journals = set[UUID]()
        for lease in list(self._enlisted):
            if rows >= COMMIT_ROWS:
                break
            # A lease that this process has lost and the lease that it got instead: the database and
            # the verdicts tell the batches of a group apart by their journals.
            if lease.journal_id in journals:
                continue
            journals.add(lease.journal_id)
            del self._enlisted[lease]
            if lease.weight >= HEAVY:
                self._heavy[lease] = None
                self._heavy_wake.set()
            elif lease.waiting:
                leases.append(lease)
                work.append(lease.take())
                rows += len(work[-1][0].records)
        return leases, work

    async def _ring(self) -> None:
        # Ring the bell next to the commits: a dead or frozen Valkey never delays one. The messages
        # of commits during a call go together, or each would wait for an answer to all before it.
        while True:
            calls = [await self._bell.get()]
            while not self._bell.empty():
                calls.append(self._bell.get_nowait())
            await bell.ring([item for items in calls for item in items])
            for _ in calls:
                self._bell.task_done()

    async def _follow(self) -> None:
        """Follow up next to the commits; runs that end during a call go into the next one."""
        loop = asyncio.get_running_loop()
        while True:
            calls = [await self._ended.get()]
            while not self._ended.empty():
                calls.append(self._ended.get_nowait())
            ended, rows = (
                [each for part in parts for each in part] for parts in zip(*calls, strict=True)
            )
            if self._follow_up is not None:
                call = partial(_call, self._follow_up, ended, rows)
                try:
                    await loop.run_in_executor(self._after, call)
                except Exception:
                    log.exception("writer.follow_up_failed")
            for _ in calls:
                self._ended.task_done()


async def _gather() -> None:
    """Let the current events be included: a message's end, say, and the run's.

    Only a writer that was idle does so; after a commit the next batch is there already.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + GATHER_SECONDS
    for _ in range(GATHER_TURNS):
        await asyncio.sleep(0)
        if loop.time() > until:
            return


def _call(follow_up: FollowUp, ended: list[UUID], rows: list[Any]) -> None:
    """Call it in a thread with its own connection, which may have broken since the last call."""
    own_connection(AFTER_COMMIT, deadline=DEADLINE)

    def call() -> None:
        follow_up.act(rows + (follow_up.look(ended)() if ended else []))

    try:
        call()
    except (InterfaceError, OperationalError):
        connection.close()
        call()


def _disconnect() -> None:
    connection.close()
