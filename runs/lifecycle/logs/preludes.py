"""Large preludes of live runs, kept for the readers that join next: stored once for all of them.

A prelude at an earlier position is as good as a new one: the log continues from there.
"""

from typing import NamedTuple
from uuid import UUID

from agui_host.backends.shelf import Shelf
from agui_host.protocol.ids import epoch_of

LARGE = 64 * 1024
"""Bytes from which a prelude is kept; a smaller one is made as fast as it is found."""
MOST_BYTES, OF_A_TEAM = 32_000_000, 16_000_000
NEAR = 500
"""Events after a kept prelude with which it is still used."""


class Kept(NamedTuple):
    """A prelude and its position."""

    position: int
    opening: bytes


class Preludes:
    """The newest prelude of each run, until it is not used for some minutes. Safe in threads."""

    def __init__(self) -> None:
        self._kept: Shelf[UUID, Kept] = Shelf(process=MOST_BYTES, team=OF_A_TEAM)

    def near(self, run: UUID, position: int) -> Kept | None:
        """A kept prelude from which a reader who joins at ``position`` can continue.

        Of another epoch there is none: its events may have been lost.
        """
        near = self._kept.get(run)
        if near is None or not 0 <= position - near.position <= NEAR:
            return None
        return near if epoch_of(near.position) == epoch_of(position) else None

    def keep(self, run: UUID, made: Kept, team: UUID) -> Kept:
        """Keep a prelude; the one to use, which another thread may have kept just now."""
        if len(made.opening) < LARGE:
            return made
        if (near := self.near(run, made.position)) is not None:
            return near
        self._kept.put(run, made, team, len(made.opening))
        return made


preludes = Preludes()
