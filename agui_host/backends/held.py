"""Bytes under way: how much of tenants' data this process holds at once, in all and for a team."""

import threading
from collections import Counter


class Held:
    """A ledger with two bounds, in bytes. Safe in threads."""

    def __init__(self, process: int, team: int) -> None:
        self.process, self.team = process, team
        self._by_team: Counter[str] = Counter()
        self._all = 0
        # A hold can be closed by the end of its owner, at any moment.
        self._lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """All that is held now."""
        return self._all

    def fits(self, team: object, size: int) -> bool:
        """Whether ``size`` more bytes are within both bounds.

        A size above a bound fits while nothing else is held, so a large log can be sent.
        """
        own = self._by_team.get(str(team), 0)
        return (not self._all or self._all + size <= self.process) and (
            not own or own + size <= self.team
        )

    def of(self, team: object) -> int:
        """The bytes that are held for a team now."""
        return self._by_team.get(str(team), 0)

    def take(self, team: object, size: int) -> bool:
        """Count ``size`` bytes if they fit; False if they do not."""
        with self._lock:
            if not self.fits(team, size):
                return False
            self._count(str(team), size)
            return True

    def add(self, team: object, size: int) -> None:
        """Count bytes that are there already, whether or not they fit."""
        with self._lock:
            self._count(str(team), size)

    def give_back(self, team: object, size: int) -> None:
        """The bytes are no longer held."""
        self.add(team, -size)

    def _count(self, team: str, size: int) -> None:
        self._all += size
        self._by_team[team] += size
        if self._by_team[team] <= 0:
            del self._by_team[team]


class Hold:
    """What one message or file takes of a ledger; ``close`` gives all of it back, once."""

    __slots__ = ("_held", "_size", "_team")

    def __init__(self, ledger: Held, team: object) -> None:
        self._held, self._team, self._size = ledger, team, 0

    def take(self, size: int) -> bool:
        """Whether ``size`` more bytes fit; if so they are counted."""
        taken = self._held.take(self._team, size)
        self._size += size if taken else 0
        return taken

    def add(self, size: int) -> None:
        """Count bytes that are there already."""
        self._held.add(self._team, size)
        self._size += size

    def close(self) -> None:
        """Give it back."""
        self._held.give_back(self._team, self._size)
        self._size = 0
