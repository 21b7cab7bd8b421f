"""Another team of a person in which they see a run or thread that they do not see here."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q

from agui_host.backends.postgres import scope
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.teams.models import Membership, Team
from runs.access import access


def team_of(
    principal: Principal, *, run: UUID | None = None, thread: UUID | None = None
) -> Team | None:
    """The team that the person would have to switch to; None if no team of theirs shows it."""
    what = Q(pk=run) if run is not None else Q(thread=thread)
    with scope.everywhere():
        for other in _others(principal):
            if other.can("view") and access.visible(other).filter(what).exists():
                return other.team
    return None


def _others(principal: Principal) -> Iterator[Principal]:
    if principal.kind != "user" or principal.user_id is None:
        return
    mine = Membership.objects.of_one_person().filter(user=principal.user_id, team__archived_at=None)
    for membership in mine.exclude(team=principal.team).select_related("team").order_by("pk"):
        other = authentication.of_actor(membership.team, principal.actor_id)
        if other is not None:
            yield other
