"""The people of a team, and archiving it. Every change locks the team's row."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, Forbidden, NotFound, Unauthenticated
from agui_host.protocol.input.zones import zone
from agui_host.teams import audit, authentication, keys, offboarding
from agui_host.teams.actors import Acting, key_id, user_id
from agui_host.teams.authentication import Principal
from agui_host.teams.models import ApiKey, Membership, Role, Team
from agui_host.teams.offboarding import Ended, Leaving
from agui_host.teams.permissions import ACTIONS, allowed, lower, reaches
from agui_host.teams.revocation import revoked
from agui_host.teams.tenancy import TeamQuerySet


class NoFactor(Conflict):
    """Set up your own second factor first; otherwise you would lock yourself out."""

    code = "no_factor"


MOST_KEY_DAYS = 3650
RULES = {"key_days", "second_factor"}
"""Members of a change of the team that only owners make."""


class LastOwner(Conflict):
    """A team needs at least one owner: make another member an owner first."""

    code = "last_owner"


@dataclass(frozen=True, slots=True)
class Removal:
    """The result of a person's leaving: the keys they had made that still worked, and the rest."""

    keys: list[ApiKey]
    keys_kept: bool
    ended: Ended


def visible(principal: Principal) -> TeamQuerySet[Membership]:
    """The people of the principal's team."""
    principal.require("view_team")
    return Membership.objects.for_team(principal.team).select_related("user")


def find(principal: Principal, member_id: int) -> Membership:
    """One of them. Raises NotFound."""
    row = visible(principal).filter(pk=member_id).first()
    if row is None:
        raise NotFound("There is no such member.")
    return row


def teams_of(principal: Principal) -> list[tuple[Team, Role]]:
    """The teams that a person is in, the oldest membership first; for others their own."""
    principal.require("view_team")
    if principal.kind != "user":
        return [(principal.team, principal.role)]
    mine = Membership.objects.of_one_person().filter(user=principal.user_id, team__archived_at=None)
    rows = mine.select_related("team").order_by("created_at", "pk")
    return [(row.team, Role(row.role)) for row in rows]


def change_role(principal: Principal, member_id: int, role: Role) -> Membership:
    """Change a person's role. Raises NotFound, Forbidden, LastOwner."""
    with holding(principal) as now:
        row = find(now, member_id)
        now.require("manage_members")
        _require_reach(now, Role(row.role), role)
        require_may_give(now, role)
        before, row.role = row.role, role
        if role != before:
            require_other_owner(row, before)
            row.save(update_fields=["role"])
            name = row.user.get_username()
            audit.record(principal, now.team, "member.changed", name, role=role, was=before)
            revoked(now.team.pk)
        return row


def remove(principal: Principal, member_id: int, *, keep_keys: bool = False) -> Removal:
    """Remove a person from the team, and revoke everything that gives them access.

    Grants that named them through this team, their links and invitations end, and so do their
    streams. The keys they have made are revoked, or taken over by the remover with ``keep_keys``.
    Everybody may remove themselves, without keeping keys. Raises NotFound, Forbidden, LastOwner.
    """
    with holding(principal) as now:
        row = find(now, member_id)
        oneself = now.kind == "user" and row.user_id == now.user_id
        if not oneself:
            now.require("manage_members")
            _require_reach(now, Role(row.role))
        if keep_keys:
            now.require("manage_keys")
            if oneself:
                raise Forbidden("Ask someone who stays in the team to take over your keys.")
        require_other_owner(row, row.role)
        role, user = Role(row.role), row.user
        row.delete()
        audit.record(principal, now.team, "member.removed", user.get_username(), role=role)
        keys_kept = hand_over(now.team, user, role, _person(now), principal) if keep_keys else []
        removal = left(now.team, user, principal)
        return Removal(keys_kept or removal.keys, keep_keys, removal.ended)


def leaves_behind(principal: Principal, member_id: int) -> list[ApiKey]:
    """The working keys of a member, for anyone who may remove them. Raises NotFound, Forbidden."""
    row = find(principal, member_id)
    if principal.kind != "user" or row.user_id != principal.user_id:
        principal.require("manage_members")
        _require_reach(principal, Role(row.role))
    return _working_keys(principal.team, row.user)


def left(team: Team, user: User, by: Acting | str) -> Removal:
    """Revoke everything by which a person who has left ``team`` could get back in; idempotent.

    Their keys are revoked, except those handed over before, which are no longer theirs.
    """
    mine = ApiKey.objects.for_team(team).filter(created_by=user)
    actors = [user_id(user.pk), *(key_id(pk) for pk in mine.values_list("pk", flat=True))]
    ended = _working_keys(team, user)
    for key in ended:
        keys.revoke(key, by)
    return Removal(ended, False, offboarding.end(Leaving(team, actors, by, user.pk)))


def hand_over(
    team: Team, user: User, role: Role, heir: User | None, by: Acting | str
) -> list[ApiKey]:
    """Make ``heir`` (None: the operator) answer for a person's keys, which gain no rights by it."""
    mine = _working_keys(team, user)
    for key in mine:
        key.created_by, key.role = heir, lower(key.role, role)
        key.save(update_fields=["created_by", "role"])
        audit.record(by, team, "key.handed_over", key.prefix, was=user.get_username())
    return mine


def change_team(principal: Principal, changes: Mapping[str, Any]) -> Team:
    """Set ``name``, ``time_zone``, ``key_days`` and ``second_factor``, if present.

    The slug stays. ``key_days`` applies to keys made from then on, ``time_zone`` to schedules.
    Raises Forbidden, Invalid.
    """
    if "time_zone" in changes:
        zone(changes["time_zone"])
    with holding(principal) as now:
        now.require("manage_team" if RULES & set(changes) else "rename_team")
        if changes.get("second_factor") and now.user_id is not None:
            probe = Team(pk=now.team.pk, second_factor=True)
            if not authentication.meets_rules(now.user_id, probe):
                raise NoFactor
        was = {name: getattr(now.team, name) for name in changes}
        different = {name: value for name, value in changes.items() if value != was[name]}
        Team.objects.filter(pk=now.team.pk).update(**changes)
        if "name" in different:
            audit.record(principal, now.team, "team.renamed", name=changes["name"], was=was["name"])
        if "time_zone" in different:
            zones = {"time_zone": changes["time_zone"], "was": was["time_zone"]}
            audit.record(principal, now.team, "team.time_zone", **zones)
        if rules := {name: value for name, value in different.items() if name in RULES}:
            audit.record(principal, now.team, "team.rules", **rules)
            revoked(now.team.pk)  # People without a second factor lose their streams.
        return Team.objects.get(pk=now.team.pk)


def archive(principal: Principal) -> None:
    """Archive the team: it cannot be entered, and its streams end. Operators can undo it."""
    with holding(principal) as now:
        now.require("manage_team")
        Team.objects.filter(pk=now.team.pk).update(archived_at=clock.now())
        audit.record(principal, now.team, "team.archived")
        revoked(now.team.pk)


@contextmanager
def holding(principal: Principal) -> Iterator[Principal]:
    """Lock the team's row, then read the principal again, which can no longer change.

    So if two owners remove each other at once, the second finds itself removed, or alone.
    """
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(pk=principal.team.pk)
        yield standing(principal)


def standing(principal: Principal) -> Principal:
    """The current principal. Raises Unauthenticated if it has lost access."""
    now = authentication.refreshed(principal)
    if now is None:
        raise Unauthenticated("You are no longer a member of this team.")
    return now


def _working_keys(team: Team, user: User) -> list[ApiKey]:
    rows = ApiKey.objects.for_team(team).select_related("team").filter(created_by=user)
    return [row for row in rows.filter(revoked=False).order_by("pk") if keys.usable(row)]


def _person(principal: Principal) -> User | None:
    """The calling person, or the person responsible for the calling key."""
    if principal.key_id is not None:
        rows = ApiKey.objects.for_team(principal.team).select_related("created_by")
        made_by: User | None = rows.get(pk=principal.key_id).created_by
        return made_by
    return User.objects.filter(pk=principal.user_id).first() if principal.user_id else None


def require_may_give(principal: Principal, role: Role) -> None:
    """Raises Forbidden for a role above one's own.

    A key cannot give a role with more rights than its scopes, and only people make owners.
    """
    if not reaches(principal.role, role):
        raise Forbidden("You cannot give a role above your own.", details={"role": role})
    if principal.kind != "key":
        return
    if role == Role.OWNER:
        raise Forbidden(
            "Only a person, not an API key, can make someone an owner.", details={"role": role}
        )
    actions = {name for name in ACTIONS if allowed(role, name)}
    if principal.agents is not None or (principal.only is not None and actions - principal.only):
        raise Forbidden("That role has more permissions than this key.", details={"role": role})


def _require_reach(principal: Principal, *roles: Role) -> None:
    if not all(reaches(principal.role, role) for role in roles):
        raise Forbidden(
            "You cannot give or take a role above your own.", details={"action": "manage_members"}
        )


def require_other_owner(row: Membership, before: str) -> None:
    others = Membership.objects.filter(team=row.team_id, role=Role.OWNER, user__is_active=True)
    if before == Role.OWNER and not others.exclude(pk=row.pk).exists():
        raise LastOwner
