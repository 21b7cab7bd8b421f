"""Actors as rows store them: an id that decides rights, and a label for people."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

LONGEST = 60


@runtime_checkable
class Acting(Protocol):
    """A Principal or an Actor."""

    @property
    def label(self) -> str:
        """What people call the actor."""

    @property
    def actor_id(self) -> str:
        """The id that the audit log records."""


@dataclass(frozen=True, slots=True)
class Actor:
    """``actor_id`` is ``user:<pk>``, ``key:<pk>`` or ``link:<pk>``; these are never reused.

    ``label`` contains a login or a key's prefix: another person can get the login later, so it
    decides nothing. The host itself has no ``actor_id`` and no rights by one.
    """

    label: str
    actor_id: str = ""


HOST = Actor("host")


def actor(who: Acting | str) -> Actor:
    """What rows store about ``who``; a string is the label of a part of the host."""
    return Actor(who) if isinstance(who, str) else Actor(who.label, who.actor_id)


def user_id(pk: int) -> str:
    """The ``actor_id`` of a person."""
    return f"user:{pk}"


def key_id(pk: object) -> str:
    """The ``actor_id`` of an API key."""
    return f"key:{pk}"
