"""UUIDv7: the time that an id carries."""

from uuid import UUID


def uuid7_floor(seconds: float) -> UUID:
    """The smallest UUIDv7 of a moment, given in epoch seconds."""
    return UUID(int=int(seconds * 1000) << 80)


def uuid7_seconds(id: UUID) -> float:
    """When an id was made, in epoch seconds."""
    return (id.int >> 80) / 1000
