"""Seats: counts an owner's open streams over all web processes, in Valkey or PostgreSQL.

Each stream has a member of the owner's sorted set whose score is its expiry; the process renews its
own while they are open. So a crashed process's seats free themselves within ``LEASE`` seconds, and
a Valkey that lost everything learns of them again. Without Valkey no reader is counted or refused:
a limit is not worth an outage. A Valkey that answers with a refusal (a cluster, a replica, a user
without rights, a full server) is a mistake that stays: each process then keeps the limit. So it
does while a replica takes over from a dead server, which takes seconds.

Near the limit Valkey decides about each seat. Far below it the process takes and leaves seats
without a call, and informs Valkey within a second.
"""

import asyncio
import functools
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import structlog

from agui_host.backends import ringer, valkey

log = structlog.get_logger(__name__)

LEASE = 45
RENEW = 15.0
FRESH = 1.0
"""Seconds for which a process relies on the total that Valkey last returned."""
TELL = 0.8
"""Seconds between two reports to Valkey; below FRESH, so a busy owner's total stays fresh."""
SHARE = 16
"""A process takes at most ``most // SHARE`` seats on its own: eight processes take half of them."""
PAUSE = 5.0
"""Seconds in which Valkey is not asked again after it failed: each stream would wait for it."""


def _key(owner: UUID | str) -> str:
    return f"agui:seats:{owner}"


class Report(NamedTuple):
    """The changes of an owner's seats that one call reports to Valkey, and its requests."""

    departures: set[int]
    arrivals: list[int]
    renewals: list[int]
    requests: list[int]


class OwnerSeats:
    """One owner's seats in this process, and the total over all processes."""

    __slots__ = (
        "arrivals", "call", "departures", "key", "members", "most", "next_call", "repeat",
        "requests", "total", "total_at",
    )  # fmt: skip

    def __init__(self, key: str) -> None:
        self.key = key
        self.most = 0
        self.total = 0
        self.total_at = float("-inf")
        self.members: set[int] = set()  # in Valkey
        self.arrivals: set[int] = set()  # not yet in Valkey
        self.departures: set[int] = set()  # still in Valkey
        self.requests: list[int] = []  # Valkey decides about them in the next call
        self.repeat = False  # Valkey might have lost the members: the next call repeats them
        self.call: asyncio.Task[None] | None = None
        self.next_call: asyncio.Task[None] | None = None

    def is_far_below(self) -> bool:
        """Whether Valkey can learn of the next change later."""
        if not self.most:
            return True
        changes = len(self.arrivals) + len(self.departures)
        fresh = time.monotonic() - self.total_at <= FRESH
        return fresh and 2 * self.total <= self.most and changes < self.most // SHARE

    def free_here(self) -> int:
        """The seats that are left if this process is the only one."""
        taken = len(self.members) + len(self.arrivals)
        return max(0, self.most - taken) if self.most else len(self.requests) + 1

    def has_changes(self) -> bool:
        """Whether there is something to tell Valkey."""
        return bool(self.arrivals or self.departures or self.repeat)

    def is_idle(self) -> bool:
        """Whether nothing here is worth keeping."""
        busy = self.has_changes() or self.members or self.requests or self.call or self.next_call
        return not busy

    def leave(self, seat: int) -> None:
        """Give the seat up, whatever Valkey has of it."""
        if seat in self.requests:
            self.requests.remove(seat)
        elif seat in self.arrivals and self.call is None:
            self.arrivals.remove(seat)
        else:  # A call in flight might be storing it.
            self.arrivals.discard(seat)
            self.members.discard(seat)
            self.departures.add(seat)

    def report(self) -> Report:
        """Everything to tell Valkey. Arrivals stay arrivals until Valkey has answered."""
        renewals = list(self.members) if self.repeat else []
        report = Report(self.departures, list(self.arrivals), renewals, self.requests)
        self.departures, self.requests, self.repeat = set(), [], False
        return report

    def store(self, report: Report, total: int, free: int) -> None:
        """Apply Valkey's answer: the first ``free`` of the requests have a seat."""
        self.members.update(self.arrivals.intersection(report.arrivals))
        self.arrivals.difference_update(report.arrivals)
        # A stream cancelled while it waited is among the departures.
        self.members.update(set(report.requests[:free]) - self.departures)
        self.total = total
        self.repeat = total < len(self.members)  # Valkey lost some.


class Seat:
    """A seat while a stream is open: a class, since a generator of each would take a kilobyte."""

    __slots__ = ("_most", "_number", "_owner", "_seats")

    def __init__(self, seats: "Seats", owner: UUID | str, most: int) -> None:
        self._seats, self._owner, self._most, self._number = seats, owner, most, 0

    async def __aenter__(self) -> bool:
        self._number = await self._seats.take(self._owner, self._most)
        return self._number != 0

    async def __aexit__(self, *_: object) -> None:
        await self._seats.leave(self._owner, self._number)


class Seats:
    """The seats that this process has taken, in one event loop."""

    def __init__(self) -> None:
        self._owners: dict[UUID | str, OwnerSeats] = {}
        self._changes: set[OwnerSeats] = set()
        self._name = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._users = 0
        self._store = ringer.seat_store()
        self._tending: asyncio.Task[None] | None = None
        self._down_until = 0.0
        self._refused = False  # by an answer, or by a server whose replica takes over

    def taken(self, owner: UUID | str, most: int) -> Seat:
        """Take one of the owner's ``most`` seats (0: no limit); False if none is free."""
        return Seat(self, owner, most)

    async def take(self, name: UUID | str, most: int) -> int:
        """The number of the seat; 0 if none is free."""
        owner = self._owner(name)
        owner.most = most
        seat = next(self._numbers)
        self._users += 1
        if self._tending is None:
            self._tending = asyncio.create_task(self._tend(), name="seats")
        try:
            if self._is_down() and self._refused and not owner.free_here():
                self._users -= 1
                return 0
            if owner.is_far_below() or self._is_down():
                owner.arrivals.add(seat)
                self._changes.add(owner)
                return seat
            owner.requests.append(seat)
            await self._exchange(owner)
        except BaseException:
            self._drop(owner, seat)
            raise
        return seat if seat in owner.members else 0

    async def leave(self, name: UUID | str, seat: int) -> None:
        """Give up a seat that ``take`` returned."""
        if not seat:
            self._users -= 1
            return
        owner = self._owners[name]
        later = owner.is_far_below() or self._is_down()
        self._drop(owner, seat)
        if seat in owner.departures and not later:
            await self._exchange(owner)

    def fullest(self, most: int) -> list[tuple[UUID, int, int]]:
        """Teams with a limit: their open streams over all processes, and the limit."""
        counts = [
            (name, max(own.total, len(own.members) + len(own.arrivals)), own.most)
            for name, own in self._owners.items()
            if own.most and isinstance(name, UUID)
        ]
        return sorted(counts, key=lambda count: count[1] / count[2], reverse=True)[:most]

    async def tell(self) -> None:
        """Tell Valkey which seats were taken and left without a call."""
        for owner in list(self._changes):
            if self._is_down():
                return
            if owner.has_changes():
                await self._exchange(owner)
            else:
                self._changes.discard(owner)

    async def renew(self) -> None:
        """Tell Valkey that these streams are still open; forget owners without any."""
        for owner in self._owners.values():
            owner.repeat = bool(owner.members)
            if owner.has_changes():
                self._changes.add(owner)
        await self.tell()
        self._owners = {name: own for name, own in self._owners.items() if not own.is_idle()}

    def _owner(self, name: UUID | str) -> OwnerSeats:
        owner = self._owners.get(name)
        if owner is None:
            owner = self._owners[name] = OwnerSeats(_key(name))
        return owner

    def _drop(self, owner: OwnerSeats, seat: int) -> None:
        self._users -= 1
        owner.leave(seat)
        if owner.departures:
            self._changes.add(owner)

    async def _tend(self) -> None:
        """Report and renew until no stream has been open for a while, then end the task."""
        renew_at = time.monotonic() + RENEW
        try:
            while True:
                await asyncio.sleep(TELL)
                if time.monotonic() < renew_at:
                    await self.tell()
                    continue
                renew_at = time.monotonic() + RENEW
                await self.renew()
                if not (self._users or self._changes):
                    return
        finally:
            self._tending = None
            if not self._users:
                await self._store.rest()

    async def _exchange(self, owner: OwnerSeats) -> None:
        """Wait for a call that has yet to begin; all who wait meanwhile share it.

        An owner's calls take turns, so that Valkey gets a seat's arrival before its departure.
        A task makes them, so that a stream's cancellation stops no other's.
        """
        if owner.next_call is None:
            call = self._call_after(owner, owner.call)
            owner.next_call = asyncio.create_task(call, name="seats.call")
        await asyncio.shield(owner.next_call)

    async def _call_after(self, owner: OwnerSeats, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        owner.call, owner.next_call = owner.next_call, None
        try:
            await self._call(owner)
        finally:
            owner.call = None

    async def _call(self, owner: OwnerSeats) -> None:
        report, called_at = owner.report(), time.monotonic()
        answer = await self._do(lambda: self._eval(owner, report))
        if answer is None:  # The departures expire by themselves; the others are told again.
            free = owner.free_here() if self._refused else len(report.requests)
            owner.store(report, 0, free)
            owner.total_at = float("-inf")
        else:
            owner.store(report, *answer)
            owner.total_at = called_at
        if owner.has_changes():
            self._changes.add(owner)
        else:
            self._changes.discard(owner)

    def _eval(self, owner: OwnerSeats, report: Report) -> Awaitable[Any]:
        departures, arrivals, renewals, requests = (
            [f"{self._name}:{seat}" for seat in seats] for seats in report
        )
        return self._store.exchange(
            owner.key,
            lease=LEASE,
            most=owner.most or 2**53,
            departures=departures,
            members=arrivals + renewals,
            requests=requests,
        )

    def _is_down(self) -> bool:
        return time.monotonic() < self._down_until

    async def _do(self, command: Callable[[], Awaitable[Any]]) -> Any:
        """The answer; None without Valkey."""
        if self._is_down():
            return None
        try:
            async with asyncio.timeout(2 * self._store.seconds):
                answer = await command()
        except valkey.ERRORS as error:  # TimeoutError is an OSError
            self._down_until = time.monotonic() + PAUSE
            self._refused = valkey.refusal(error) is not None or self._store.has_replicas
            log.warning("seats.not_counted", error=type(error).__name__)
            await self._store.renew()
            return None
        self._refused = False
        return answer


@functools.cache
def _seats_of(loop: asyncio.AbstractEventLoop) -> Seats:
    return Seats()


def seats() -> Seats:
    """The seats of this process (one per event loop, since tests have many)."""
    return _seats_of(asyncio.get_running_loop())


def count(owner: UUID | str) -> int | None:
    """How many seats the owner's streams have taken (synchronous); None without Valkey.

    Seats taken or left within the last second can be missing.
    """
    numbers = counts([owner])
    return None if numbers is None else numbers[0]


def counts(owners: Sequence[UUID | str]) -> list[int] | None:
    """``count`` of each of these owners, in one call for a thousand of them."""
    return ringer.seat_counts([_key(owner) for owner in owners])
