"""The people of a team, and the end of it. Every change holds the team's row."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.utils import timezone

from agui_project.errors import Conflict, Forbidden, NotFound, Unauthenticated
from teams import audit, authentication
from teams.authentication import Principal
from teams.models import Membership, Role, Team
from teams.permissions import reaches
from teams.revocation import revoked
from teams.tenancy import TeamQuerySet


class LastOwner(Conflict):
    """A team keeps at least one owner: make somebody else an owner first."""

    code = "last_owner"


def visible(principal: Principal) -> TeamQuerySet[Membership]:
    """The people of the principal's team."""
    principal.require("view")
    return Membership.objects.for_team(principal.team).select_related("user")


def find(principal: Principal, member_id: int) -> Membership:
    """One of them. Raises NotFound."""
    row = visible(principal).filter(pk=member_id).first()
    if row is None:
        raise NotFound("There is no such member.")
    return row


def teams_of(principal: Principal) -> list[tuple[Team, Role]]:
    """The teams that a person is in, the oldest membership first; of others the principal's own."""
    principal.require("view")
    if principal.kind != "user":
        return [(principal.team, principal.role)]
    mine = Membership.objects.unscoped("one person, all teams").filter(
        user=principal.user_id, team__archived_at=None
    )
    rows = mine.select_related("team").order_by("created_at", "pk")
    return [(row.team, Role(row.role)) for row in rows]


def change_role(principal: Principal, member_id: int, role: Role) -> Membership:
    """Give a person another role. Raises NotFound, Forbidden, LastOwner."""
    with _holding(principal) as now:
        row = find(now, member_id)
        now.require("manage_members")
        _require_reach(now, Role(row.role), role)
        before, row.role = row.role, role
        if role != before:
            _require_other_owner(row, before)
            row.save(update_fields=["role"])
            name = row.user.get_username()
            audit.record(principal, now.team, "member.changed", name, role=role, was=before)
            revoked(now.team.pk)
        return row


def remove(principal: Principal, member_id: int) -> None:
    """Take a person out of the team, and end their streams. Everybody may take out themselves.

    Keys that the person has made are the team's, and stay.
    """
    with _holding(principal) as now:
        row = find(now, member_id)
        if now.kind != "user" or row.user_id != now.user_id:
            now.require("manage_members")
            _require_reach(now, Role(row.role))
        _require_other_owner(row, row.role)
        row.delete()
        audit.record(principal, now.team, "member.removed", row.user.get_username(), role=row.role)
        revoked(now.team.pk)


def rename(principal: Principal, name: str) -> Team:
    """Give the team another name; its slug stays. Raises Forbidden."""
    with _holding(principal) as now:
        now.require("manage_team")
        Team.objects.filter(pk=now.team.pk).update(name=name)
        audit.record(principal, now.team, "team.renamed", name=name, was=now.team.name)
        return Team.objects.get(pk=now.team.pk)


def archive(principal: Principal) -> None:
    """Shut the team: nobody is let in any more, and its streams end. Operators can undo it."""
    with _holding(principal) as now:
        now.require("manage_team")
        Team.objects.filter(pk=now.team.pk).update(archived_at=timezone.now())
        audit.record(principal, now.team, "team.archived")
        revoked(now.team.pk)


@contextmanager
def _holding(principal: Principal) -> Iterator[Principal]:
    """Hold the team's row, and ask again who the principal is now that nobody can change it.

    So of two owners who remove each other at once, the second finds itself removed, or alone.
    """
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(pk=principal.team.pk)
        now = authentication.refreshed(principal)
        if now is None:
            raise Unauthenticated("You are no longer in this team.")
        yield now


def _require_reach(principal: Principal, *roles: Role) -> None:
    if not all(reaches(principal.role, role) for role in roles):
        raise Forbidden(
            "Nobody gives or takes a role above their own.", details={"action": "manage_members"}
        )


def _require_other_owner(row: Membership, before: str) -> None:
    others = Membership.objects.filter(team=row.team_id, role=Role.OWNER, user__is_active=True)
    if before == Role.OWNER and not others.exclude(pk=row.pk).exists():
        raise LastOwner
