"""Work: the unit in which the cost of a team's data is charged, in this process.

One unit is one JSON value parsed, copied, shifted, validated or rendered, or ``BYTES`` bytes of
text. A team has a bucket that holds ``BURST`` seconds of its share and fills up all the time, more
slowly while other teams are there. Code that can wait asks ``debt`` and pauses (the worker's
executor); code that answers a request calls ``agui_host.teams.limits.refuse_work`` before it begins
(the web process).
"""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from uuid import UUID

from agui_host.backends import metrics
from agui_host.protocol.patient_json import count

BYTES = 16
"""Bytes of text that cost as much as one value."""
SHARE = 1_000_000
"""Units a second of one team in one process: about a third of a processor."""
BESIDE = 0.4
"""The part of its share that a team has while others are there: their events wait for the one
interpreter, and for the processors, as often as it computes."""
LATELY = 2.0
"""Seconds for which a team that was charged is there."""
BURST = 4.0
"""Seconds of its share that a team can use at once."""
OTHERS = "links"
"""How the metric names payers that are no team."""
REMEMBERED = 10_000
"""Teams with a bucket; the one charged longest ago is forgotten, and starts with a full bucket."""


def values_of(text: bytes | str) -> int:
    """About how many values a JSON text holds; separators in strings also count."""
    return count(text, ",[{")


def of_json(text: bytes | str) -> int:
    """The units for reading, or writing, a JSON text once."""
    return values_of(text) + len(text) // BYTES


class Buckets:
    """The buckets of the teams that this process has worked for lately. Safe in threads."""

    def __init__(
        self, share: int = SHARE, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.share, self.burst, self._clock = share, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._present: Counter[str] = Counter()
        self._newest: list[tuple[str, float]] = []  # the two teams charged last, and when
        self._lock = threading.Lock()

    def charge(self, payer: str, amount: int, *, is_team: bool = True) -> None:
        """Take ``amount`` units from the payer's bucket, which can fall below zero."""
        with self._lock:
            now = self._clock()
            self._left[payer] = (self._filled(payer) - amount, now)
            self._left.move_to_end(payer)
            if len(self._left) > REMEMBERED:
                self._left.popitem(last=False)
            if is_team:
                self._newest = [(payer, now), *(e for e in self._newest if e[0] != payer)][:2]

    def come(self, team: str) -> None:
        """Something is open for this team: until it is gone, others have ``BESIDE``."""
        with self._lock:
            self._present[team] += 1

    def go(self, team: str) -> None:
        """Undo ``come``."""
        with self._lock:
            self._present[team] -= 1
            if not self._present[team]:
                del self._present[team]

    def debt(self, team: str) -> float:
        """Seconds until the team's bucket is above zero; 0.0 below its share."""
        with self._lock:
            return max(0.0, -self._filled(team) / self._rate(team))

    def _filled(self, team: str) -> float:
        full = self.share * self.burst
        left, at = self._left.get(team, (full, 0.0))
        return min(full, left + (self._clock() - at) * self._rate(team))

    def is_alone(self, team: str) -> bool:
        """Whether no other team is there."""
        since = self._clock() - LATELY
        return len(self._present) <= (team in self._present) and not any(
            name != team and at > since for name, at in self._newest
        )

    def _rate(self, team: str) -> float:
        """Units a second that come back."""
        return self.share if self.is_alone(team) else self.share * BESIDE


_buckets = Buckets()


def charge(team: object, kind: str, amount: int) -> None:
    """Charge ``amount`` units to a team, or to a link's address.

    ``kind`` names the work for the metric ``agui_team_work_total`` (``parse``, ``fold``, ``view``
    …): a word of ours, never a tenant's. The metric has one line for all addresses, since there can
    be thousands of them.
    """
    name = str(team)
    metrics.work.labels(name if isinstance(team, UUID) else OTHERS, kind).inc(amount)
    _buckets.charge(name, amount, is_team=isinstance(team, UUID))


def come(team: object) -> None:
    """An answer or a socket is open for a team: its events are waited for."""
    _buckets.come(str(team))


def go(team: object) -> None:
    """Undo ``come``."""
    _buckets.go(str(team))


def is_alone(team: object) -> bool:
    """Whether this process has nothing open for other teams, and charged none lately."""
    return _buckets.is_alone(str(team))


def debt(team: object) -> float:
    """Seconds for which the team's work should wait in this process; 0.0 below its share."""
    return _buckets.debt(str(team))
