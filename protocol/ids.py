"""UUIDv7: the time that an id carries."""

import secrets
from uuid import UUID

MILLISECONDS = 1 << 48
"""As many as an id can count."""


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
