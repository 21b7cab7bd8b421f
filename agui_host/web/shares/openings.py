"""Openings that are being sent: how many bytes of them a process and a team hold at once."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from agui_host.backends.held import Held
from agui_host.teams.limits import LimitReached

LARGE = 64 * 1024
"""Bytes that are sent at once, and from which an opening is counted."""
ledger = Held(process=128_000_000, team=64_000_000)
_readers: Counter[int] = Counter()
"""Readers of each counted opening, by identity: a shared one counts once."""


class Opening:
    """The bytes before a log, in pieces; they are released once they are sent or it is closed.

    Raises LimitReached if too many others wait for their readers.
    """

    __slots__ = ("_opening", "_owner")

    def __init__(self, owner: UUID, opening: bytes) -> None:
        self._owner, self._opening = owner, b""
        if len(opening) > LARGE:
            if not _readers[id(opening)] and not ledger.take(owner, len(opening)):
                raise LimitReached.of("opening_bytes", ledger.team, after=1.0)
            _readers[id(opening)] += 1
        self._opening = opening

    def __iter__(self) -> Iterator[bytes]:
        """The pieces, once."""
        try:
            for start in range(0, len(self._opening), LARGE):
                yield self._opening[start : start + LARGE]
        finally:
            self.close()

    def close(self) -> None:
        """Release the bytes."""
        opening, self._opening = self._opening, b""
        if len(opening) > LARGE:
            _readers[id(opening)] -= 1
            if not _readers[id(opening)]:
                del _readers[id(opening)]
                ledger.give_back(self._owner, len(opening))
