"""Lease: an executor's right to write one journal, through which it appends to the writer."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import HostError
from events.journal import Batch, Claim

Also = Callable[[], object]
"""What shares the transaction of a batch."""
IN_FLIGHT = 512
IN_FLIGHT_BYTES = 1024 * 1024
ROW = 512
"""Bytes whose commit takes as long as a row's share of it."""
PATIENT = frozenset({"TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"})
"""Deltas: further ones can be committed some milliseconds later."""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL and its values. In a batch's transaction it raises where it does not apply."""

    sql: str
    values: dict[str, Any]

    def __call__(self) -> list[Any]:
        """Execute it in the caller's transaction; its rows."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.values)
            rows: list[Any] = cursor.fetchall()
            return rows

    def marked(self, mark: str) -> "Statement":
        """The same with other names for its values, to be in one message with others."""
        values = {mark + name: value for name, value in self.values.items()}
        return Statement(self.sql.replace("%(", f"%({mark}"), values)


def joined(statements: Sequence[Statement]) -> Statement:
    """The statements as one message, which PostgreSQL makes one transaction."""
    marked = [statement.marked(f"{number}__") for number, statement in enumerate(statements)]
    values = {name: value for each in marked for name, value in each.values.items()}
    return Statement(";".join(each.sql for each in marked), values)


class LostLease(HostError):
    """Another writer has taken this journal over; nothing more may be appended."""

    code = "lost_lease"


class AppendFailed(HostError):
    """The database refused these events."""

    code = "append_failed"


class Lease:
    """Appends to one journal. An appended event is not durable until ``flush`` returns.

    All state is touched on the event loop only. ``waiting`` has not been passed to the database
    yet; ``in_flight`` and ``bytes`` count everything that is not committed.
    """

    __slots__ = (
        "also",
        "bytes",
        "changed",
        "enlist",
        "epoch",
        "error",
        "generation",
        "head",
        "in_flight",
        "journal_id",
        "returned",
        "streaming",
        "urgent",
        "waiting",
    )

    def __init__(self, enlist: "Callable[[Lease], None]", claim: Claim) -> None:
        """``enlist`` informs the writer that this lease has records waiting."""
        self.enlist = enlist
        self.journal_id = claim.journal_id
        self.generation = claim.generation
        self.epoch = claim.epoch
        self.head = claim.head  # the seq of the last committed event
        self.waiting: list[Record] = []
        self.also: list[Also] = []
        self.returned: tuple[Batch, list[Also]] | None = None
        self.in_flight = self.bytes = 0
        self.streaming = False  # the event before was a delta
        self.urgent = False  # something else than further deltas waits
        self.error: HostError | None = None
        self.changed = asyncio.Event()

    @property
    def full(self) -> bool:
        """Whether the caller should await ``room`` before it appends more."""
        return self.in_flight >= IN_FLIGHT or self.bytes >= IN_FLIGHT_BYTES

    @property
    def left(self) -> int:
        """How many records can be appended until it is full, but for their size."""
        return IN_FLIGHT - self.in_flight

    @property
    def weight(self) -> int:
        """How long the commit of all that is not committed takes, as that of so many bytes."""
        return self.bytes + ROW * self.in_flight

    def append(self, records: Sequence[Record], also: Sequence[Also] = ()) -> int:
        """Queue records, of so many bytes; ``also`` runs in the transaction that stores them.

        Raises LostLease.
        """
        if self.error:
            raise self.error
        was_waiting, was_urgent = bool(self.waiting), self.urgent
        streaming, urgent, size = self.streaming, was_urgent, 0
        for kind, payload, _ in records:
            size += len(payload)
            is_delta = kind in PATIENT
            if not (streaming and is_delta):
                urgent = True
            streaming = is_delta
        self.waiting += records
        self.in_flight += len(records)
        self.bytes += size
        if also:
            self.also += also
            urgent = True
        self.streaming, self.urgent = streaming, urgent
        if not was_waiting or urgent is not was_urgent:
            self.enlist(self)
        return size

    async def room(self) -> None:
        """Wait until less than half of the allowed records are on their way.

        So a flood slows itself down, and an agent does not run ahead of a large event that its
        readers wait for. To continue with the first place that is free would cut each batch in
        two, and a commit costs as much as a hundred events.
        """
        half = IN_FLIGHT // 2, IN_FLIGHT_BYTES // 2
        self._hurry()
        await self._until(lambda: self.in_flight < half[0] and self.bytes < half[1])

    async def flush(self) -> None:
        """Wait until everything appended is committed."""
        self._hurry()
        await self._until(lambda: not self.in_flight)

    def reopen(self) -> None:
        """After AppendFailed: continue after the last committed event."""
        if isinstance(self.error, AppendFailed):
            self.error = None

    def take(self) -> tuple[Batch, list[Also]]:
        """The waiting records as the next batch (for the writer), after any that was put back."""
        if self.returned is not None:
            returned, self.returned = self.returned, None
            return returned
        batch = Batch(self.journal_id, self.generation, self.head + 1, self.waiting, self.epoch)
        also, self.waiting, self.also = self.also, [], []
        self.urgent = False
        return batch, also

    def put_back(self, batch: Batch, also: list[Also]) -> None:
        """Keep a batch unchanged for the next try: it may turn out to be committed."""
        self.returned = (batch, also)

    def settle(self, batch: Batch, error: HostError | None) -> None:
        """Take the writer's verdict on a batch."""
        if error is None:
            self.head = batch.last
            self.in_flight -= len(batch.records)
            self.bytes -= batch.bytes
        else:
            self.error = error
            self.waiting, self.also = [], []
            self.in_flight = self.bytes = 0
        self.changed.set()

    def _hurry(self) -> None:
        if self.waiting and not self.urgent:
            self.urgent = True
            self.enlist(self)

    async def _until(self, done: Callable[[], bool]) -> None:
        while not self.error and not done():
            self.changed.clear()
            await self.changed.wait()
        if self.error:
            raise self.error
