"""Actors as rows store them: an id that decides rights, and a label for people."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol, runtime_checkable
from uuid import UUID

LONGEST = 60
END_USER = "end:"
NOBODY = 1_987_654_321
"""The id of a person who does not exist, for queries that are built before they are asked."""


@dataclass(frozen=True, slots=True)
class EndUser:
    """A person for whom an API key acts, as a signed token names them (``teams.end_users``).

    ``sub`` is their id at the key's owner. ``actor_id`` decides which threads are theirs; another
    key's end user of the same ``sub`` has a different one. ``credential`` is the key's own
    ``actor_id``, ``claims`` the token's claims as JSON.
    """

    sub: str
    actor_id: str
    credential: str
    claims: str = "{}"
    expires: float = 0.0
    signed_with: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The name in the usage by person."""
        return f"{END_USER}{self.sub}"


@runtime_checkable
class Acting(Protocol):
    """A Principal or an Actor."""

    @property
    def label(self) -> str:
        """What people call the actor."""

    @property
    def actor_id(self) -> str:
        """The id that decides rights."""

    @property
    def end_user(self) -> EndUser | None:
        """The person for whom a key acts, if its request names one."""


@dataclass(frozen=True, slots=True)
class Actor:
    """``actor_id`` is ``user:<pk>``, ``key:<pk>``, ``link:<pk>`` or ``end:<digest>``, never reused.

    ``label`` contains a login or a key's prefix: another person can get the login later, so it
    decides nothing. The host itself has no ``actor_id`` and no rights by one.
    """

    label: str
    actor_id: str = ""
    end_user: EndUser | None = None


HOST = Actor("host")


def actor(who: Acting | str) -> Actor:
    """What rows store about ``who``; a string is the label of a part of the host."""
    if isinstance(who, str):
        return Actor(who)
    return Actor(who.label, who.actor_id, who.end_user)


def user_id(pk: int) -> str:
    """The ``actor_id`` of a person."""
    return f"user:{pk}"


def key_id(pk: object) -> str:
    """The ``actor_id`` of an API key."""
    return f"key:{pk}"


def end_user_id(realm: UUID, sub: str) -> str:
    """The ``actor_id`` of an end user; ``realm`` is shared by a key and its successors."""
    return f"{END_USER}{sha256(f'{realm}:{sub}'.encode()).hexdigest()[:48]}"


def is_end_user(actor_id: str) -> bool:
    """Whether this is the ``actor_id`` of an end user, who sees only their own threads."""
    return actor_id.startswith(END_USER)


def credential_of(who: Acting) -> str:
    """The ``actor_id`` of the credential: for an end user that of the key."""
    return who.end_user.credential if who.end_user else who.actor_id
