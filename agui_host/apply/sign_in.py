"""A team's domains and groups of the sign-in service; null removes one."""

import re

from agui_host.apply.changes import BY, Changes
from agui_host.apply.document import BadFile, TeamValues
from agui_host.teams import audit
from agui_host.teams.models import GroupRule, Team, TeamDomain

_DOMAIN = re.compile(r"[\w-]+(\.[\w-]+)+")


def apply_sign_in(team: Team, values: TeamValues, changes: Changes) -> None:
    """Verify domains for the team, and give groups roles in it. Raises BadFile."""
    for name, role in values.domains.items():
        domain = name.lower()
        if len(domain) > 253 or not _DOMAIN.fullmatch(domain):
            raise BadFile(f"teams.{team.slug}.domains: {name} is no domain such as example.com")
        _apply_domain(team, domain, role, changes)
    for group, role in values.groups.items():
        if not 1 <= len(group) <= 255:
            raise BadFile(f"teams.{team.slug}.groups: a group has 1 to 255 characters")
        _apply_group(team, group, role, changes)


def _apply_domain(team: Team, domain: str, role: str | None, changes: Changes) -> None:
    place = f"{team.slug} domain {domain}"
    row = TeamDomain.objects.for_team(team).filter(domain=domain).first()
    if not _differs(place, row, role, changes):
        return
    if role is None:
        TeamDomain.objects.for_team(team).filter(domain=domain).delete()
        audit.record(BY, team, "domain.removed", domain)
        return
    TeamDomain.objects.for_team(team).update_or_create(
        team=team, domain=domain, defaults={"role": role}
    )
    audit.record(BY, team, "domain.verified", domain, role=role)


def _apply_group(team: Team, group: str, role: str | None, changes: Changes) -> None:
    rows = GroupRule.objects.for_team(team).filter(group=group)
    row = rows.first()
    if row is not None and role is not None and not row.for_everyone:
        raise BadFile(f"teams.{team.slug}.groups.{group}: the team's owner has a rule for it")
    if not _differs(f"{team.slug} group {group}", row, role, changes):
        return
    if role is None:
        rows.delete()
        audit.record(BY, team, "group_rule.deleted", group, group=group)
        return
    rows.update_or_create(
        team=team,
        group=group,
        defaults={"role": role, "for_everyone": True, "created_by": BY},
    )
    audit.record(BY, team, "group_rule.created", group, group=group, role=role)


def _differs(
    place: str, row: TeamDomain | GroupRule | None, role: str | None, changes: Changes
) -> bool:
    before = None if row is None else row.role
    if before == role:
        return False
    if role is None:
        changes.lines.append(f"- {place}")
    elif before is None:
        changes.made(place, role)
    else:
        changes.changed(place, before, role)
    return True
