"""Revokes the access of a person who leaves a team, or of a key that is revoked.

Links, grants to other teams, invitations and keys that they or their keys have made end with them.
Rooms above this one register their own revocations in ``ENDERS``.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from agui_host.backends.postgres import clock
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import Invitation, Membership, Team
from agui_host.teams.revocation import revoked


@dataclass(frozen=True, slots=True)
class Leaving:
    """The leaver of ``team``: ``actors`` are ``actor_id``s, ``user_id`` is None for a key."""

    team: Team
    actors: Collection[str]
    by: Acting | str
    user_id: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How many things of each kind have ended."""

    grants: int = 0
    links: int = 0
    invitations: int = 0

    def __add__(self, other: "Ended") -> "Ended":
        return Ended(
            self.grants + other.grants,
            self.links + other.links,
            self.invitations + other.invitations,
        )


ENDERS: list[Callable[[Leaving], Ended]] = []
"""Each revokes its kind of access, in the caller's transaction, and writes the audit lines."""


def end(leaving: Leaving) -> Ended:
    """Revoke all access of the leaver; open streams re-check access after the commit."""
    ended = _withdraw_invitations(leaving)
    for ender in ENDERS:
        ended += ender(leaving)
    revoked(leaving.team.pk)
    if leaving.user_id is not None:
        # As members of another team they can read shares granted through this one.
        others = Membership.objects.of_one_person().filter(user=leaving.user_id)
        for team_id in others.values_list("team_id", flat=True):
            revoked(team_id)
    return ended


def _withdraw_invitations(leaving: Leaving) -> Ended:
    rows = Invitation.objects.for_team(leaving.team).filter(
        inviter__in=leaving.actors, accepted_at=None, revoked_at=None
    )
    count = 0
    for key in list(rows.values_list("pk", flat=True)):
        if rows.filter(pk=key).update(revoked_at=clock.now()):
            audit.record(leaving.by, leaving.team, "invitation.revoked", str(key))
            count += 1
    return Ended(invitations=count)
