"""A team's keys as callers manage them: with permission checks, limits and the audit log."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User

from agui_host.backends.postgres import clock
from agui_host.errors import Forbidden, NotFound, Unauthenticated
from agui_host.protocol.errors import Invalid
from agui_host.teams import keys
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.end_users import signing
from agui_host.teams.models import ApiKey, Role, Team
from agui_host.teams.permissions import AGENT_FINDERS, reaches, within
from agui_host.teams.tenancy import TeamQuerySet


def visible(principal: Principal) -> TeamQuerySet[ApiKey]:
    """The team's keys, if the principal may manage them. Raises Forbidden."""
    principal.require("manage_keys")
    rows: TeamQuerySet[ApiKey] = ApiKey.objects.for_team(principal.team)
    return rows.select_related("created_by", "made_with", "replaces", "replaced_by")


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
    """A new key and its text, which is never shown again.

    Raises Forbidden for a key with more rights than the principal, Invalid for a key that would
    outlive it, or is limited to an agent that does not exist.
    """
    principal.require("manage_keys")
    with members.holding(principal) as now:
        now.require("manage_keys")
        _require_within(now, role, scopes, agents)
        _require_agents(now.team, agents)
        maker = _maker(now)
        latest = _latest(now, maker)
        if expires is not None and latest is not None and expires > latest:
            raise Invalid(
                f"This key can last until {latest:%Y-%m-%d %H:%M} UTC at most.",
                details={"path": "expires_at", "latest": latest.isoformat()},
            )
        return keys.create_key(
            now.team, name, role, _person(now, maker), expires or latest,
            scopes=scopes, agents=agents, by=principal, made_with=maker,
        )  # fmt: skip


def rotate(principal: Principal, key_id: UUID, overlap: timedelta) -> tuple[ApiKey, str]:
    """``keys.rotate`` for a key with no more rights than the principal; returns the new text."""
    with members.holding(principal) as now:
        row = find(now, key_id)
        _require_within(now, Role(row.role), row.scopes, row.agents)
        maker = _maker(now)
        return keys.rotate(
            row, overlap=overlap, created_by=_person(now, maker), by=principal,
            made_with=maker, latest=_latest(now, maker),
        )  # fmt: skip


def revoke(principal: Principal, key_id: UUID) -> ApiKey:
    """Revoke any key of the team, and end its open streams. Revoking it again changes nothing."""
    row = find(principal, key_id)
    keys.revoke(row, principal)
    return row


def renew_end_user_secret(principal: Principal, key_id: UUID) -> str:
    """``signing.renew`` for a key with no more rights than the principal."""
    with members.holding(principal) as now:
        row = find(now, key_id)
        _require_within(now, Role(row.role), row.scopes, row.agents)
        return signing.renew(row, principal)


def remove_end_user_secret(principal: Principal, key_id: UUID) -> None:
    """``signing.remove`` for any key of the team."""
    signing.remove(find(principal, key_id), principal)


def _require_within(
    principal: Principal, role: Role, scopes: Sequence[str], agents: Sequence[str] | None
) -> None:
    """Refuse a credential with more rights than the principal's own."""
    fits = (
        reaches(principal.role, role)
        and (principal.only is None or within(scopes) <= principal.only)
        and (principal.agents is None or set(agents or ["*"]) <= principal.agents)
    )
    if not fits:
        raise Forbidden(
            "That key has more permissions than you have.", details={"action": "manage_keys"}
        )


def _require_agents(team: Team, agents: Sequence[str] | None) -> None:
    known = {slug for find in AGENT_FINDERS for slug in find(team, agents or ())}
    missing = [slug for slug in agents or () if slug not in known]
    if missing:
        message = f"There is no agent {missing[0]!r} in this team."
        raise Invalid(message, details={"path": "agents", "missing": missing})


def _maker(principal: Principal) -> ApiKey | None:
    """The calling key, locked, so that its revocation also covers the keys it makes now."""
    if principal.key_id is None:
        return None
    rows = ApiKey.objects.for_team(principal.team).select_for_update(of=("self",))
    row: ApiKey | None = rows.filter(pk=principal.key_id).first()
    if row is None or not keys.usable(row):
        raise Unauthenticated("This API key is unknown, revoked or expired.")
    return row


def _person(principal: Principal, maker: ApiKey | None) -> User | None:
    # The person responsible for a new key: the caller, or the one responsible for its key.
    if maker is not None:
        return maker.created_by
    return User.objects.filter(pk=principal.user_id).first() if principal.user_id else None


def _latest(principal: Principal, maker: ApiKey | None) -> datetime | None:
    # The latest expiry of a key made now: with its maker, and by the team's rule.
    ends = [maker.expiry_date if maker else None]
    if principal.team.key_days is not None:
        ends.append(clock.now() + timedelta(days=principal.team.key_days))
    return min(filter(None, ends), default=None)
