"""The present state as a file that ``apply`` takes; secrets are left out."""

import json
from collections.abc import Collection
from typing import Any

import yaml

from agui_host.apply import team_keys
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent
from agui_host.teams import keys, limits
from agui_host.teams.models import (
    ApiKey,
    GroupRule,
    Invitation,
    Membership,
    Role,
    Team,
    TeamDomain,
)
from runs.models import Schedule, StopReason, Webhook

COLUMNS = (
    "name", "description", "queue", "timeout_seconds", "on_busy", "on_busy_chat", "policy", "raw",
    "repeatable", "heals_history", "questions", "is_tool", "is_default", "enabled", "settings",
    "middleware", "context_providers",
)  # fmt: skip


def text() -> str:
    """All teams that are not archived, as YAML."""
    return yaml.safe_dump(content(), sort_keys=False, allow_unicode=True)


def content(slugs: Collection[str] = ()) -> dict[str, Any]:
    """The teams of these slugs that are not archived; by default all."""
    teams = Team.objects.filter(archived_at=None).select_related("limits").order_by("slug")
    if slugs:
        teams = teams.filter(slug__in=slugs)
    return {"teams": {team.slug: _team(team) for team in teams}}


def _team(team: Team) -> dict[str, Any]:
    own = getattr(team, "limits", None)
    people = _people(team)
    owner = next((email for email, role in people.items() if role == Role.OWNER), None)
    members = {email: role for email, role in people.items() if email != owner}
    values: dict[str, Any] = {"name": team.name, "owner": owner}
    values["limits"] = {
        name: value for name in limits.NAMES if (value := getattr(own, name, None)) is not None
    }
    values["members"] = members
    domains = TeamDomain.objects.for_team(team).order_by("domain")
    values["domains"] = {row.domain: row.role for row in domains}
    rules = GroupRule.objects.for_team(team).filter(for_everyone=True).order_by("group")
    values["groups"] = {row.group: row.role for row in rules}
    values["keys"] = {
        row.name: team_keys.values_of(row)
        for row in ApiKey.objects.for_team(team).order_by("created")
        if keys.usable(row)
    }
    rows = Agent.objects.for_team(team).order_by("slug")
    values["agents"] = {row.slug: _agent(row) for row in rows}
    hooks = Webhook.objects.for_team(team).filter(task=None).order_by("pk")
    values["webhooks"] = [
        {"url": row.url, "events": list(row.events), "agents": row.agents, "contents": row.contents}
        for row in hooks
    ]
    values["schedules"] = {
        row.name: {
            "agent": row.agent, "cron": row.cron, "time_zone": row.time_zone,
            "input": json.loads(row.input), "missed": row.missed,
            "paused": row.stopped == StopReason.PAUSED,
        }
        for row in Schedule.objects.for_team(team).exclude(name="").exclude(cron="").order_by("pk")
    }  # fmt: skip
    return {name: value for name, value in values.items() if value not in (None, {}, [])}


def _people(team: Team) -> dict[str, str]:
    rows = Membership.objects.for_team(team).select_related("user").order_by("created_at", "pk")
    people = {row.user.email.lower(): row.role for row in rows if row.user.email}
    pending = Invitation.objects.for_team(team).filter(accepted_at=None, revoked_at=None)
    for row in pending.order_by("created_at"):
        people.setdefault(row.email, row.role)
    return people


def _agent(row: Agent) -> dict[str, Any]:
    address = {"url": row.target} if kinds.of(row.kind).remote else {"target": row.target}
    values = {"kind": row.kind, **address, **{name: getattr(row, name) for name in COLUMNS}}
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}
