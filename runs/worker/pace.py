"""Pace: a run that is faster than its team's events per second is read more slowly."""

import asyncio
import time
from collections.abc import Callable, Sequence
from traceback import clear_frames
from typing import TypeVar

from agui_host.backends import apart, work
from agui_host.protocol.encoding import Record
from agui_host.protocol.intake.intake import Intake

T = TypeVar("T")

EVENT = 20
"""Units of work for each event, in addition to its text."""
TIMES = 3
"""How often the values of a long event are gone through: it is parsed, checked and written."""
ID_BYTES = 130
"""Memory of an id in one of the tables of an intake."""
STATE, INPUT = "state", "input"
"""Parts of what a live run keeps."""
LUMP, LUMP_ALONE = 5_000, 20_000
"""Units that are charged at once: some milliseconds, after which other runs get their turn; and of
a team that is alone in this process, whose commits are larger then. A unit takes a third of a
microsecond, those of small events three times as long."""


class Pace:
    """A bucket of events: a full one holds a second's worth, and it fills up all the time.

    If ``left`` is below zero, the reader has to ``wait`` before it takes more. Without a rate it
    never waits.
    """

    __slots__ = ("_at", "_clock", "_rate", "left")

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._at = clock()
        self.left: float = rate or float("inf")

    def debt(self) -> float:
        """Fill up; the seconds until the debt is gone."""
        now = self._clock()
        self.left = min(self._rate, self.left + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, -self.left / self._rate)

    async def wait(self) -> None:
        """Return once the run may send more."""
        while (seconds := self.debt()) > 0:
            await asyncio.sleep(seconds)


class Work:
    """Charges a run's work to its team, and pauses the run while the team is above its share.

    What the run keeps is counted at the same time: memory grows only with work.
    """

    __slots__ = ("_intake", "_lump", "_memory", "_team", "units")

    def __init__(self, team: object, intake: Intake, input: int = 0) -> None:
        """``input``: bytes of memory that the run's input takes, with its history."""
        self._team, self._intake, self._memory = team, intake, apart.memory()
        self._memory.exact = self._measure
        self.units, self._lump = 0, LUMP
        self._memory.note(INPUT, input)

    def add(self, records: Sequence[Record], size: int, more: int) -> bool:
        """Count records of ``size`` bytes and ``more`` units; True if it is time to ``settle``."""
        units = self.units + more
        if size > apart.SMALL:
            units += sum(TIMES * work.of_json(record.payload) for record in records)
        else:
            units += EVENT * len(records)
            for _, payload, _ in records if size else ():
                units += len(payload) // work.BYTES
        self.units = units
        return units > self._lump

    def charge(self) -> None:
        """Charge the counted units."""
        work.charge(self._team, "fold", self.units)
        self.units = 0

    async def long(self, accept: Callable[[], list[Record]]) -> list[Record]:
        """The records of a long event, which a thread makes and counts."""

        def counted() -> list[Record]:
            records = accept()
            self.units += sum(TIMES * work.of_json(record.payload) for record in records)
            return records

        return await self.apart(counted)

    async def apart(self, call: Callable[[], T]) -> T:
        """The result of a call on a long event, made in a thread below the team's share.

        A caller that is cancelled waits until it has ended: its changes are used afterwards.
        """
        self.charge()
        return await apart.to_its_end(self._team, call)

    async def settle(self) -> None:
        """Charge, give the loop back once, and return when the team is below its shares.

        Raises RunFailed(EVENT_TOO_LARGE) if it keeps too much. While it has a current event the
        run does not wait for that: the other runs may need the room that the event takes.
        """
        self.charge()
        ids = sum(map(len, self._intake.tables()))
        self._memory.note(STATE, self._intake.replicas.memory + ID_BYTES * ids)
        if not self._memory.of(apart.EVENT):
            await self._memory.room()
        await apart.lump(self._team)
        self._lump = LUMP_ALONE if work.is_alone(self._team) else LUMP

    def close(self, error: BaseException | None) -> None:
        """Charge the last units; free the values of the run, and of the frames of ``error``.

        The parts of an intake hold each other. A full collection of garbage would free them, later
        and all at once: the event loop stood still for 60 ms after a state of many values.
        """
        self.charge()
        self._memory.close()
        self._intake.replicas.forget()
        for table in self._intake.tables():
            table.clear()
        while error is not None:
            clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__

    async def _measure(self) -> None:
        intake = self._intake
        exact = await self.apart(intake.replicas.measured)
        self._memory.note(STATE, exact + ID_BYTES * sum(map(len, intake.tables())))
