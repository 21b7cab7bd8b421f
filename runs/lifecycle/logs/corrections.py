"""How readers who add up a run's events see it: as its newest MESSAGES_SNAPSHOT corrects it.

Only a log with a snapshot is read for this, step by step, and its team is charged. A process keeps
the corrections of the logs that were read last.
"""

import asyncio
from functools import partial
from json import loads
from sys import getsizeof
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from agui_host.backends import apart, epochs, work
from agui_host.backends.postgres.bridge import db_read
from agui_host.backends.shelf import Shelf
from agui_host.protocol.fold.account import FOLLOWED, SNAPSHOT
from agui_host.protocol.schema import TERMINAL
from agui_host.protocol.sizes import weight
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.views.alone import Alone
from agui_host.protocol.views.corrected import Corrected, Corrections
from events import journal
from events.sealed import reading

STEP_EVENTS, STEP_BYTES = 2_000, 1_000_000
OPENING = 2
"""A log of so many events has nothing that could be corrected."""
PART_BYTES = 300
"""Memory of a log, and of each of its corrected parts, in addition to the texts."""
Entries = dict[tuple[str, str], tuple[int, Any]]
Key = tuple[UUID, int, int, bool | None]
Rows = tuple[int, list[reading.Row]]
Turn = tuple[asyncio.AbstractEventLoop, UUID]

_shelf: Shelf[Key, Entries] = Shelf(process=32_000_000, team=8_000_000, most=5_000)
"""By journal, epoch, head and sight: a log that grows is another one."""
_turns: WeakValueDictionary[Turn, asyncio.Lock] = WeakValueDictionary()
"""By loop and team, whose logs take turns: a log that is being read has texts in memory."""
_TYPES = FOLLOWED | TERMINAL


def of(
    run_id: UUID, team: UUID, head: int | None = None, begins: bool | None = None
) -> Corrected | None:
    """A view of a log from its first event; None if nothing in it is corrected.

    ``head`` is its newest event, if the caller has it. ``begins``: for a reader who sees the run
    alone, whether it is the first of its thread.
    """
    log = _Log(run_id, team, head, begins)
    while not log.is_read:
        log.take(log.next_rows())
    return log.view()


async def of_apart(
    run_id: UUID, team: UUID, head: int | None = None, begins: bool | None = None
) -> Corrected | None:
    """``of`` for the event loop; the events are folded when it is the team's turn."""
    if head is not None and head <= OPENING:
        return None
    log = await db_read(_Log, run_id, team, head, begins)
    if log.is_read:
        return log.view()
    async with _turns.setdefault((asyncio.get_running_loop(), team), asyncio.Lock()):
        log = await db_read(_Log, run_id, team, log.head, begins)  # It may be on the shelf now.
        while not log.is_read:
            rows = await db_read(log.next_rows)
            await apart.to_its_end(team, partial(log.take, rows))
    return log.view()


class _Log:
    """A log whose corrections are looked up, or read."""

    def __init__(self, run_id: UUID, team: UUID, head: int | None, begins: bool | None) -> None:
        if head is None:
            head = journal.heads([run_id]).get(run_id, OPENING)
        self.head = head
        self._run, self._team, self._after = run_id, team, 0
        self._alone = None if begins is None else Alone(begins=begins)
        self._corrections = Corrections()
        self._key: Key = (run_id, epochs.latest, head, begins)
        self._entries: Entries | None = {} if head <= OPENING else _shelf.get(self._key)
        if self._entries is None and not reading.rows(run_id, 0, head, 1, [SNAPSHOT]):
            self._keep({})

    @property
    def is_read(self) -> bool:
        """Whether the corrections are known."""
        return self._entries is not None

    def view(self) -> Corrected | None:
        """The view of a log that is read."""
        return Corrected(self._entries) if self._entries else None

    def next_rows(self) -> Rows:
        """The next events, and the number up to which there are no others."""
        until = min(self._after + STEP_EVENTS, self.head)
        rows = reading.rows(self._run, self._after, until, STEP_BYTES, _TYPES)
        is_cut = sum(len(payload.encode()) for _, _, payload in rows) >= STEP_BYTES
        return (rows[-1][0] if is_cut else until), rows

    def take(self, rows: Rows) -> None:
        """Fold these events."""
        self._after, events = rows
        work.charge(self._team, "fold", sum(work.of_json(payload) for _, _, payload in events))
        for seq, _, payload in events:
            visible = payload if self._alone is None else self._alone.see(payload.encode())
            self._corrections.feed(seq, loads(visible))
        if self._after >= self.head:
            self._keep(self._corrections.entries())

    def _keep(self, entries: Entries) -> None:
        self._entries = entries
        sizes = sum(_size(now) for _, now in entries.values())
        _shelf.put(self._key, entries, self._team, PART_BYTES * (1 + len(entries)) + sizes)


def _size(now: Any) -> int:
    """Bytes in memory: some characters take four."""
    return getsizeof(now) if isinstance(now, str) else weight(dumps(now))
