"""A team's keys as people and keys deal with them: permission, no more than one's own, the log."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User

from agui_project.errors import Forbidden, NotFound
from teams import keys
from teams.authentication import Principal
from teams.models import ApiKey, Role
from teams.permissions import reaches, within
from teams.tenancy import TeamQuerySet


def visible(principal: Principal) -> TeamQuerySet[ApiKey]:
    """The team's keys, for who may manage them; Forbidden for others."""
    principal.require("manage_keys")
    rows: TeamQuerySet[ApiKey] = ApiKey.objects.for_team(principal.team)
    return rows.select_related("created_by", "replaces", "replaced_by")


def find(principal: Principal, key_id: UUID) -> ApiKey:
    """One of them. Raises NotFound, Forbidden."""
    row = visible(principal).filter(pk=key_id).first()
    if row is None:
        raise NotFound("There is no such key.")
    return row


def create(
    principal: Principal,
    name: str,
    role: Role,
    *,
    scopes: Sequence[str],
    agents: Sequence[str] | None = None,
    expires: datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key, and the only sight of its text. Raises Forbidden for one that may do more."""
    principal.require("manage_keys")
    _require_within(principal, role, scopes, agents)
    return keys.create_key(
        principal.team, name, role, _person(principal), expires,
        scopes=scopes, agents=agents, by=principal,
    )  # fmt: skip


def rotate(principal: Principal, key_id: UUID, overlap: timedelta) -> tuple[ApiKey, str]:
    """``keys.rotate`` for one that may do no more than the principal: the new text is shown."""
    row = find(principal, key_id)
    _require_within(principal, Role(row.role), row.scopes, row.agents)
    return keys.rotate(row, overlap=overlap, created_by=_person(principal), by=principal)


def revoke(principal: Principal, key_id: UUID) -> ApiKey:
    """End any key of the team, and its open streams. Revoking it again changes nothing."""
    row = find(principal, key_id)
    keys.revoke(row, principal)
    return row


def _require_within(
    principal: Principal, role: Role, scopes: Sequence[str], agents: Sequence[str] | None
) -> None:
    """Nobody makes a credential that may do more than they may."""
    fits = (
        reaches(principal.role, role)
        and (principal.only is None or within(scopes) <= principal.only)
        and (principal.agents is None or set(agents or ["*"]) <= principal.agents)
    )
    if not fits:
        raise Forbidden("That key may do more than you may.", details={"action": "manage_keys"})


def _person(principal: Principal) -> User | None:
    return User.objects.filter(pk=principal.user_id).first() if principal.user_id else None
