"""The memberships that follow from a provider's claims, applied at each sign-in through it."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.conf import settings

from agui_host.backends.postgres import scope
from agui_host.teams import audit
from agui_host.teams.directory import memberships
from agui_host.teams.models import GroupRule, Membership, Origin, Role, Team, TeamDomain
from agui_host.teams.permissions import reaches

if TYPE_CHECKING:
    from django.contrib.auth.models import User

log = structlog.get_logger(__name__)
MOST_GROUPS = 2_000
"""Groups of one person; the rest of a longer list counts for nothing."""


class GroupsElsewhere(Exception):
    """The claims have a reference instead of the groups, as Entra sends it for long lists."""


def claims_of(extra_data: Mapping[str, Any]) -> dict[str, Any]:
    """The claims of an id token and of the userinfo endpoint, whose values win.

    An assertion of SAML has its groups where an id token would have them.
    """
    if isinstance(assertion := extra_data.get("saml"), Mapping):
        name = settings.AGUI_OIDC_GROUPS
        elsewhere = {"_claim_names": {name: "saml"}} if assertion.get("groups_elsewhere") else {}
        return {name: assertion.get("groups"), **elsewhere}
    parts = (extra_data.get("id_token"), extra_data.get("userinfo"))
    claims: dict[str, Any] = {}
    for part in parts:
        claims |= part if isinstance(part, Mapping) else {}
    return claims


def groups_of(claims: Mapping[str, Any]) -> set[str]:
    """The groups that the claims name; without the claim there are none. Raises GroupsElsewhere."""
    name = settings.AGUI_OIDC_GROUPS
    value = claims.get(name)
    elsewhere = claims.get("_claim_names")
    if value is None and isinstance(elsewhere, Mapping) and name in elsewhere:
        raise GroupsElsewhere
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list):
        return set()
    names = {group for group in listed[:MOST_GROUPS] if isinstance(group, str)}
    return {name for name in names if name and "\0" not in name}


@scope.everywhere()
def admits(claims: Mapping[str, Any], proven: Collection[str]) -> bool:
    """Whether a person without an account joins a team by these claims and verified addresses."""
    try:
        return bool(_roles(claims, proven))
    except GroupsElsewhere:
        return False


@scope.everywhere()
def apply(user: "User", claims: Mapping[str, Any], proven: Collection[str]) -> None:
    """Give, change and end the person's memberships that come from signing in."""
    try:
        roles = _roles(claims, proven)
    except GroupsElsewhere:
        log.warning("oidc.groups_elsewhere", user=user.get_username())
        return
    mine = Membership.objects.of_one_person().filter(user=user, origin=Origin.SIGN_IN)
    teams = {row.team_id: row.team for row in mine.select_related("team")}
    teams |= {team.pk: team for team, _ in roles.values()}
    for key in sorted(teams):
        role = roles[key][1] if key in roles else None
        memberships.settle(teams[key], user, role, Origin.SIGN_IN, audit.of_user(user))


def _roles(claims: Mapping[str, Any], proven: Collection[str]) -> dict[UUID, tuple[Team, Role]]:
    """By team, the role: the highest of the groups' rules, else the domain's."""
    groups = groups_of(claims)
    names = {address.rpartition("@")[2].lower() for address in proven}
    domains = TeamDomain.objects.of_one_person().filter(domain__in=names, team__archived_at=None)
    roles: dict[UUID, tuple[Team, Role]] = {}
    for row in domains.select_related("team"):
        _raise(roles, row.team, Role(row.role))
    rules = GroupRule.objects.of_one_person().filter(group__in=groups, team__archived_at=None)
    by_group: dict[UUID, tuple[Team, Role]] = {}
    for rule in rules.select_related("team"):
        if rule.for_everyone or rule.team_id in roles:
            _raise(by_group, rule.team, Role(rule.role))
    return roles | by_group


def _raise(roles: dict[UUID, tuple[Team, Role]], team: Team, role: Role) -> None:
    if team.pk not in roles or reaches(role, roles[team.pk][1]):
        roles[team.pk] = team, role
