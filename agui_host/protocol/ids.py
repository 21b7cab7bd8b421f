"""UUIDv7: the time that an id carries. Cursors: a place in a log that names its epoch."""

import secrets
from uuid import UUID

MILLISECONDS = 1 << 48
"""As many as an id can count."""
FIRST_EPOCH = 1
UNNAMED = 0
"""The epoch of a cursor that is a plain number."""
ANY_EPOCH = -1
"""The epoch of a place in the log as it is now: no cursor, so earlier events are not checked."""


class Position(int):
    """The ``seq`` of an event, and the epoch of the database in which it was written."""

    epoch: int

    def __new__(cls, seq: int, epoch: int = UNNAMED) -> "Position":
        position = super().__new__(cls, seq)
        position.epoch = epoch
        return position

    @property
    def name(self) -> int | str:
        """The cursor that a client sends back: a plain number in the first epoch."""
        return f"{self.epoch}-{int(self)}" if self.epoch > FIRST_EPOCH else int(self)


def epoch_of(position: int) -> int:
    """The epoch that a position names."""
    return position.epoch if isinstance(position, Position) else UNNAMED


def named(position: int) -> bytes:
    """A position as the id of an event."""
    return str(position.name if isinstance(position, Position) else position).encode()


def numbering(epoch: int) -> bytes:
    """How the ids of an epoch's events are made of their numbers."""
    return b"%d-%%d" % epoch if epoch > FIRST_EPOCH else b"%d"


def uuid7(seconds: float) -> UUID:
    """A new UUIDv7 of a moment, given in epoch seconds."""
    return _of(int(seconds * 1000))


def above(id: UUID) -> UUID:
    """A new UUIDv7 of the millisecond after that of another."""
    return _of((id.int >> 80) + 1)


def uuid7_floor(seconds: float) -> UUID:
    """The smallest UUIDv7 of a moment, given in epoch seconds."""
    return UUID(int=int(seconds * 1000) << 80)


def uuid7_seconds(id: UUID) -> float:
    """When an id was made, in epoch seconds."""
    return (id.int >> 80) / 1000


def _of(milliseconds: int) -> UUID:
    chance = secrets.randbits(74)
    time = (milliseconds % MILLISECONDS) << 80
    return UUID(int=time | 0x7 << 76 | (chance >> 62) << 64 | 0b10 << 62 | chance & (1 << 62) - 1)
