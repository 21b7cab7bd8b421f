"""A team's group rules and domains: its owner makes rules for the people of its domains."""

from uuid import UUID

from django.db import transaction

from agui_host.errors import Conflict, NotFound
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.actors import actor
from agui_host.teams.authentication import Principal
from agui_host.teams.models import GroupRule, Role, TeamDomain
from agui_host.teams.tenancy import TeamQuerySet

MOST_RULES = 200


class NoDomain(Conflict):
    """An operator must first verify a domain of your team; rules are for people of its domains."""

    code = "no_domain"


class RuleTaken(Conflict):
    """The team has a rule for this group; remove that one first."""

    code = "rule_taken"


def domains(principal: Principal) -> TeamQuerySet[TeamDomain]:
    """The team's domains. Raises Forbidden."""
    principal.require("manage_members")
    return TeamDomain.objects.for_team(principal.team).order_by("domain")


def visible(principal: Principal) -> TeamQuerySet[GroupRule]:
    """The team's rules, newest first. Raises Forbidden."""
    principal.require("manage_members")
    return GroupRule.objects.for_team(principal.team).order_by("-id")


def create(principal: Principal, group: str, role: Role) -> GroupRule:
    """A rule for people of the team's domains. Raises Forbidden, NoDomain, RuleTaken."""
    with members.holding(principal) as now:
        now.require("manage_team")
        members.require_may_give(now, role)
        if not domains(now).exists():
            raise NoDomain
        rows = GroupRule.objects.for_team(now.team)
        if rows.filter(group=group).exists():
            raise RuleTaken
        if rows.count() >= MOST_RULES:
            raise Conflict(f"A team has at most {MOST_RULES} rules for groups.")
        row = GroupRule.objects.create(
            team=now.team, group=group, role=role, created_by=actor(principal).label
        )
        audit.record(principal, now.team, "group_rule.created", str(row.pk), group=group, role=role)
        return row


@transaction.atomic
def remove(principal: Principal, key: UUID) -> None:
    """Remove a rule: its people lose the role at their next sign-in. Raises Forbidden, NotFound."""
    principal.require("manage_team")
    row = GroupRule.objects.for_team(principal.team).select_for_update().filter(pk=key).first()
    if row is None:
        raise NotFound("There is no such rule.")
    row.delete()
    audit.record(principal, principal.team, "group_rule.deleted", str(key), group=row.group)
