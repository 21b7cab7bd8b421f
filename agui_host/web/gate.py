"""The gate: limits how many requests a web process works on at once, and which others can wait.

Django gives every request its own thread, and each thread wants a connection of the pool.
Without a bound, 6,000 starts at 300 a second made thousands of threads that each waited ten seconds
for nothing, and open streams stood still. So a request takes a slot before it can use the database,
and gives it back when its answer begins: an open stream holds none.

Callers take turns, and one caller (a team, or an address not yet identified) holds at most half of
the slots. While other identified callers are there, a caller whose requests have held slots for
long lately holds a quarter: more at once take no less time, but the one interpreter from the
others' events. A request that would wait too long is refused at once.

Starts have a share of the slots only: each keeps a processor busy, and many at once held up the
events of open streams. Reads and joins wait for PostgreSQL instead, and share its answers. While
other identified callers have streams open, a caller's starts also rest, and while such callers only
send requests, they rest in proportion to those: the processors that a start keeps busy after its
answer, in worker and database, are needed for the others' events and begin their runs. A caller
that starts a few runs does not rest: four people of a team who began at the same moment waited for
each other. Starts never rest for a request without a known credential, which a stranger can send.
"""

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable

from django.conf import settings

from agui_host.backends import work
from agui_host.errors import Overloaded
from agui_host.kinds import JOIN, READ, START, WRITE
from agui_host.web.callers import TEAM

WAIT_FACTORS: dict[str, int] = {START: 1, WRITE: 1, READ: 1, JOIN: 6}
"""Multiplies ``AGUI_REQUEST_WAIT`` for each kind: thousands of readers return after a restart."""
MOST_WAITING = 4_000
FIRST_GUESS = 0.02
"""Seconds that a request takes, until some were measured."""
WEIGHT = 0.1
BUSY = 0.02
"""Seconds that a start keeps processors busy: a longer start waits for its thread."""
RECENT = 2.0
"""Seconds in which a request of an identified caller counts less by a factor of e."""
PRESENT = 5.0
"""Recent requests of others for which starts rest in full; for fewer they rest in proportion."""
FEW = 5.0
"""Recent starts of one caller that do not rest yet: two or three a second; twice as many do so in
full."""
LONG = 2.0
"""Recent seconds of slots for which a caller holds a quarter of them beside others: those of one
slot that it holds all the time. Each slot then pauses for as long as the request took."""
LONGEST_REST = 0.5
"""The most seconds of such a pause: a request can also have waited for a busy thread."""
REMEMBERED = 1_000
"""Callers whose recent requests, or starts, are counted; the one longest silent is forgotten."""

Key = tuple[str, str]


class Recent:
    """How many requests each caller has sent lately, or how long these took.

    Each counts less as time passes.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._total = (0.0, 0.0)

    def count(self, caller: str, amount: float = 1.0) -> None:
        """One more request of this caller, or so many seconds."""
        now = time.monotonic()
        self._total = _faded(self._total, now) + amount, now
        self._counts[caller] = _faded(self._counts.get(caller, (0.0, now)), now) + amount, now
        self._counts.move_to_end(caller)
        if len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)

    def of(self, caller: str) -> float:
        """The faded count of this caller."""
        return _faded(self._counts.get(caller, (0.0, 0.0)), time.monotonic())

    def of_others(self, caller: str) -> float:
        """The faded count of all callers but this one; below a hundredth it is 0.0."""
        now = time.monotonic()
        others = _faded(self._total, now) - _faded(self._counts.get(caller, (0.0, now)), now)
        return others if others > 0.01 else 0.0


def _faded(count: tuple[float, float], now: float) -> float:
    amount, at = count
    return amount * math.exp((at - now) / RECENT) if RECENT else 0.0


class Slot:
    """The right to use the database for one request; ``release`` and ``close`` are idempotent."""

    __slots__ = (
        "_caller",
        "_gate",
        "_is_open",
        "_kind",
        "_opener",
        "_since",
        "identify",
        "released",
    )

    def __init__(self, gate: "Gate", caller: str, kind: str, known: bool) -> None:
        self._gate, self._caller, self._kind = gate, caller, kind
        self._since = time.monotonic()
        self._opener: str | None = caller if known else None
        self.identify: Callable[[], str | None] = _unknown
        """Asked when the answer begins: the caller, if the request has identified it by then."""
        self.released = self._is_open = False

    def release(self) -> None:
        """Give the slot back: the request's answer begins, and is a stream for as long as it lasts.

        Again is harmless.
        """
        if not self.released:
            self.released = self._is_open = True
            self._opener = self.identify() or self._opener
            self.identify = _unknown
            if self._opener is not None:
                self._gate.opened(self._opener)
            self._gate.left(self._caller, self._kind, time.monotonic() - self._since)

    def close(self, _: object = None) -> None:
        """The request is over."""
        self.release()
        if self._is_open:
            self._is_open = False
            if self._opener is not None:
                self._gate.closed(self._opener)


def _unknown() -> None:
    return None


class Gate:
    """The slots of one event loop, and the lanes of callers that wait for one."""

    def __init__(self, slots: int, starts: int | None = None, rest: float = 0.0) -> None:
        """``starts``: how many of the slots starts can hold; all of them if not given.

        ``rest``: while other callers are there, a caller's starts pause after each, so many times
        as long as that one took.
        """
        self.slots = slots
        self.rest = rest
        self.starts = min(starts or slots, slots)
        self.share, self.quarter = max(1, slots // 2), max(1, slots // 4)
        # A caller's starts can wait long for their own thread, so a slot stays free. Callers that
        # start many runs leave more of them free.
        self.few_starts = min(self.share, max(1, self.starts - 1))
        self.many_starts = min(self.share, max(1, self.starts // 3))
        self._busy = 0
        self._busy_of: Counter[str] = Counter()
        self._starts = 0
        self._starts_of: Counter[str] = Counter()
        self._open = 0
        self._open_of: Counter[str] = Counter()
        self._recent, self._recent_starts, self._recent_seconds = Recent(), Recent(), Recent()
        self._lanes: OrderedDict[Key, deque[asyncio.Future[None]]] = OrderedDict()
        self._starting_lanes = 0
        self._waiting = 0
        self._seconds: dict[str, float] = dict.fromkeys(WAIT_FACTORS, FIRST_GUESS)

    async def enter(self, caller: str, kind: str, *, known: bool = True) -> Slot:
        """Take a slot, or wait for one. Raises Overloaded at once if that would take too long.

        ``known``: the caller is identified, so others' starts rest for it.
        """
        if known:
            self._recent.count(caller)
        if kind == START:
            self._recent_starts.count(caller)
        if (caller, kind) not in self._lanes and self._has_room(caller, kind):
            self._take(caller, kind)
            return Slot(self, caller, kind, known)
        seconds = self.expected(caller, kind)
        if (
            seconds > settings.AGUI_REQUEST_WAIT * WAIT_FACTORS[kind]
            or self._waiting >= MOST_WAITING
        ):
            raise Overloaded(headers={"Retry-After": str(max(1, math.ceil(seconds)))})
        turn = asyncio.get_running_loop().create_future()
        if (caller, kind) not in self._lanes:
            self._lanes[caller, kind] = deque()
            self._starting_lanes += kind == START
        self._lanes[caller, kind].append(turn)
        self._waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.left(caller, kind, None)  # it got a slot and was cancelled in the same moment
            else:
                self._remove((caller, kind), turn)
            raise
        return Slot(self, caller, kind, known)

    def expected(self, caller: str, kind: str) -> float:
        """Seconds that a request would wait behind its own lane."""
        fresh = (caller, kind) not in self._lanes
        at_once = min(self._share_of(caller), self.slots / (len(self._lanes) + fresh))
        seconds = self._seconds[kind]
        if self._is_dear(caller):
            seconds += min(seconds, LONGEST_REST)
        if kind == START:
            starters = self._starting_lanes + fresh
            at_once = min(at_once, self._share_of_starts(caller), self.starts / starters)
            seconds += self._rest_of(caller, seconds)
        return len(self._lanes.get((caller, kind), ())) * seconds / at_once

    def left(self, caller: str, kind: str, seconds: float | None) -> None:
        """Take a slot back; ``seconds``, if set, is how long its request took."""
        if seconds is not None:
            self._seconds[kind] += (seconds - self._seconds[kind]) * WEIGHT
            self._recent_seconds.count(caller, seconds)
        self._busy -= 1
        if seconds and self._is_dear(caller):
            self._rest(min(seconds, LONGEST_REST), self._busy_of, caller)
        else:
            _count_down(self._busy_of, caller)
        if kind == START:
            self._starts -= 1
            if rest := self._rest_of(caller, seconds or 0.0):
                self._rest(rest, self._starts_of, caller)
            else:
                _count_down(self._starts_of, caller)
        self._call()

    def opened(self, caller: str) -> None:
        """A request of this caller no longer holds a slot, but is still answered."""
        self._open += 1
        self._open_of[caller] += 1
        work.come(caller.removeprefix(TEAM))

    def closed(self, caller: str) -> None:
        """Such a request is over."""
        self._open -= 1
        _count_down(self._open_of, caller)
        work.go(caller.removeprefix(TEAM))

    def _share_of(self, caller: str) -> int:
        """How many slots the caller holds at most."""
        return self.quarter if self._is_dear(caller) else self.share

    def _is_dear(self, caller: str) -> bool:
        """Whether its requests have held slots for long lately, beside others."""
        is_long = self._recent_seconds.of(caller) >= LONG
        return is_long and self._presence_of_others(caller) == 1.0

    def _share_of_starts(self, caller: str) -> int:
        """How many slots the caller's starts hold at most."""
        is_few = self._recent_starts.of(caller) <= FEW
        return self.few_starts if is_few else self.many_starts

    def _rest_of(self, caller: str, seconds: float) -> float:
        many = min(1.0, max(0.0, self._recent_starts.of(caller) / FEW - 1.0))
        return many and min(seconds, BUSY) * self.rest * self._presence_of_others(caller) * many

    def _presence_of_others(self, caller: str) -> float:
        """From 0.0, no other identified caller is there, to 1.0."""
        if self._open > self._open_of[caller]:
            return 1.0
        return min(1.0, self._recent.of_others(caller) / PRESENT)

    def _rest(self, seconds: float, counter: Counter[str], caller: str) -> None:
        """Leave a slot that the caller has given back in its count for ``seconds``."""
        asyncio.get_running_loop().call_later(seconds, self._rested, counter, caller)

    def _rested(self, counter: Counter[str], caller: str) -> None:
        _count_down(counter, caller)
        self._call()

    def _has_room(self, caller: str, kind: str) -> bool:
        own = self._busy_of[caller]
        if self._busy >= self.slots or (own >= self.quarter and own >= self._share_of(caller)):
            return False
        return kind != START or (
            self._starts < self.starts and self._starts_of[caller] < self._share_of_starts(caller)
        )

    def _take(self, caller: str, kind: str) -> None:
        self._busy += 1
        self._busy_of[caller] += 1
        if kind == START:
            self._starts += 1
            self._starts_of[caller] += 1

    def _call(self) -> None:
        """Give free slots to the lane whose turn it is, which then goes to the end."""
        for key in list(self._lanes):
            if self._busy >= self.slots:
                return
            if not self._has_room(*key):
                continue
            self._take(*key)
            turn = self._lanes[key][0]
            self._remove(key, turn)
            if key in self._lanes:
                self._lanes.move_to_end(key)
            turn.set_result(None)

    def _remove(self, key: Key, turn: "asyncio.Future[None]") -> None:
        self._lanes[key].remove(turn)
        self._waiting -= 1
        if not self._lanes[key]:
            del self._lanes[key]
            self._starting_lanes -= key[1] == START


def _count_down(counter: Counter[str], name: str) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]
