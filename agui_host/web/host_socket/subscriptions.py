"""A subscription: the events of a run, or of a thread's runs, as far as its credit reaches."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db_read
from agui_host.protocol.ids import Position
from agui_host.teams.authentication import Principal
from agui_host.web.consumers.stream import Logs, followed, refuse_lost
from agui_host.web.host_socket import frames
from agui_host.web.host_socket.credit import Credit, RunCredit
from agui_host.web.host_socket.outgoing import Outgoing
from events import journal
from events.frames import Frames
from events.journal import Purged
from runs.access import following
from runs.access.following import Place

PIECE = 32
"""Events that a subscription sends in one turn."""
PIECE_BYTES = 64 * 1024
PATIENCE = 1.0
"""Seconds that a subscription without credit keeps a batch; then it reads the log again."""
NEVER = float("inf")


class End(StrEnum):
    """Why a subscription ended."""

    FINISHED = "finished"
    REVOKED = "revoked"
    PURGED = "purged"
    SLOW = "slow"
    RESET = "reset"


class Slow(Exception):
    """The subscriber has acknowledged nothing for ``AGUI_STALL_TIMEOUT`` seconds."""


class Subscription(Protocol):
    """A subscription of a socket's reader."""

    name: str
    run: UUID | None
    """The run whose readers can read this; None where only the credential counts."""
    in_full: bool
    """Whether it shows more than that run alone."""
    details: dict[str, Any]
    """Members of its end notification, in addition to the reason."""

    @property
    def credit(self) -> Credit:
        """The number of events that it can still send."""

    async def follow(self) -> End:
        """Send its events, as far as there is credit; returns why no more will come."""
        ...

    async def refused(self) -> End:
        """Why its run cannot be read any more."""
        ...


class RunSubscription:
    """One run, from a position to its end."""

    run: UUID | None

    def __init__(
        self,
        name: str,
        outgoing: Outgoing,
        window: int,
        place: Place,
        *,
        principal: Principal,
        owner: UUID,
        is_whole: bool,
        in_full: bool | None = None,
    ) -> None:
        """``owner`` is the runs' team; ``is_whole``: the reader certainly sees all of a thread.

        ``in_full``: the reader sees more than the run alone, certainly or by a grant.
        """
        self.name, self.details = name, dict[str, Any]()
        self.credit = RunCredit(window)
        self.in_full = is_whole if in_full is None else in_full
        self.run = self._first = place.run
        self._after = place.after
        self._outgoing = outgoing
        self._principal, self._owner, self._is_whole = principal, owner, is_whole
        self._since = epochs.latest

    async def follow(self) -> End:
        """Send the events; returns why no more will come."""
        try:
            await self._send_all()
        except Purged:
            return End.PURGED
        except Reset as error:
            self.details = error.details
            return End.RESET
        except Slow:
            return End.SLOW
        return End.FINISHED

    async def refused(self) -> End:
        """A run can also be lost, with the history that it was part of."""
        try:
            await refuse_lost(self._first, self._owner, self._since)
        except Reset as error:
            self.details = error.details
            return End.RESET
        return End.REVOKED

    async def _send_all(self) -> None:
        await self._send_run(self._first, self._after)

    async def _send_run(self, run: UUID, after: int) -> None:
        """Send a run to its end. Raises Purged and Slow."""
        self.credit.begin(run, after)
        position: int | None = after
        while position is not None:
            if not await self.credit.wait(settings.AGUI_STALL_TIMEOUT):
                raise Slow
            position = await self._send_while_paid(run, position)

    async def _send_while_paid(self, run: UUID, position: int) -> int | None:
        """Follow while there is credit: the position reached, or None at the end of the run.

        A subscriber that stays without credit gives back its place and its batch, so that it costs
        no memory while it waits.
        """
        logs = Logs([run], self._owner, doubtful=[] if self._is_whole else [run])
        log = await followed(self._principal, logs, position, idle=NEVER)
        async with aclosing(log) as batches:
            async for batch in batches:
                if batch is None:
                    continue
                position = await self._send(run, batch) or position
                if position < batch.last:
                    return position
                if batch.final:
                    return None
                del batch
        if not await db_read(journal.heads, [run]):
            raise Purged  # erased, which reads like the end
        return None

    async def _send(self, run: UUID, batch: Frames) -> Position | None:
        """Send the batch piece by piece; the position reached, None if it is the one before."""
        position, texts = batch.first - 1, batch.texts
        while position < batch.last:
            if not self.credit.left and not await self.credit.wait(PATIENCE):
                break
            start = position + 1 - batch.first
            piece = _piece(texts, start, min(self.credit.left, PIECE))
            # Counted before they go out: the reader can acknowledge them before we are back here.
            self.credit.spend(run, len(piece))
            await self._outgoing.frames(
                [
                    frames.event(self.name, run, batch.at(seq), text)
                    for seq, text in enumerate(piece, position + 1)
                ]
            )
            position += len(piece)
        return batch.at(position) if position >= batch.first else None


def _piece(texts: list[str], start: int, most: int) -> list[str]:
    size, end = 0, start
    while end < min(len(texts), start + most) and (size < PIECE_BYTES or end == start):
        size += len(texts[end])
        end += 1
    return texts[start:end]


class ThreadSubscription(RunSubscription):
    """The runs of a thread, one after another, and later ones."""

    def __init__(
        self,
        name: str,
        outgoing: Outgoing,
        window: int,
        place: Place,
        *,
        thread: UUID,
        begins: bool,
        standing: Callable[[], Principal],
        principal: Principal,
        is_whole: bool,
    ) -> None:
        """``begins``: the run of ``place`` is sent as well, not only those after it."""
        owner = principal.team.pk
        super().__init__(
            name, outgoing, window, place, principal=principal, owner=owner, is_whole=is_whole
        )
        self._standing = standing
        self.thread = thread
        self.caught_up = False
        self._begins = begins
        self._seen: set[UUID] = set()
        self._next: deque[UUID] = deque()
        self._more = asyncio.Event()

    def offer(self, runs: Iterable[UUID]) -> None:
        """More runs of the thread; runs that were offered before are ignored."""
        fresh = [run for run in runs if run > self._first and run not in self._seen]
        self._seen.update(fresh)
        self._next.extend(fresh)
        if fresh:
            self._more.set()

    def lacks(self, runs: Iterable[UUID]) -> bool:
        """Whether one of the thread's ``runs`` was neither offered nor looked for."""
        return any(run > self._first and run not in self._seen for run in runs)

    def looked_for(self, runs: Iterable[UUID]) -> None:
        """Note runs whose visibility was checked: it is not checked again."""
        self._seen.update(runs)

    def forget(self, floor: UUID) -> None:
        """No run below ``floor`` will be offered again."""
        self._seen = {run for run in self._seen if run > floor}

    async def _send_all(self) -> None:
        if self._begins:
            await self._send_run(self._first, self._after)
        last = self._first
        while page := await db_read(self._page, last):
            last = page[-1]
            self.offer(page)
            await self._send_offered()
        self.caught_up = True
        while True:
            self._more.clear()
            await self._send_offered()
            await self._more.wait()

    def _page(self, after: UUID) -> list[UUID]:
        return following.page(self._standing(), self.thread, after)

    async def _send_offered(self) -> None:
        while self._next:
            self.run = run = self._next.popleft()
            await self._send_run(run, 0)
