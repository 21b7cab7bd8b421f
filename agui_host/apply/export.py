"""The present state as a file that ``apply`` takes; secrets are left out."""

from collections.abc import Collection
from typing import Any

import yaml

from agui_host.apply import budgets, team_keys
from agui_host.apply.agents import COLUMNS
from agui_host.protocol import patient_json
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.middleware.keys import SECTIONS
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
    values: dict[str, Any] = {"name": team.name, "owner": owner, "key_days": team.key_days}
    values["second_factor"] = team.second_factor or None
    values["time_zone"] = team.time_zone if team.time_zone != "UTC" else None
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
    values["budgets"] = budgets.values_of(team)
    hooks = Webhook.objects.for_team(team).filter(task=None).order_by("pk")
    values["webhooks"] = [
        {
            "url": row.url, "events": list(row.events), "agents": row.agents,
            "contents": row.contents, "enabled": row.enabled,
        }
        for row in hooks
    ]  # fmt: skip
    schedules = Schedule.objects.for_team(team).exclude(name="").exclude(cron="").order_by("pk")
    values["schedules"] = {row.name: _schedule(row) for row in schedules}
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
    columns = {name: getattr(row, name) for name in (*COLUMNS, *SECTIONS)}
    values = {"kind": row.kind, **address, **columns}
    # No rules for questions is a choice: the default are all of them.
    return {
        name: value
        for name, value in values.items()
        if value not in (None, "", {}, []) or name == "questions"
    }


def _schedule(row: Schedule) -> dict[str, Any]:
    thread = {"thread": row.thread, "thread_id": row.thread_id} if row.thread_id else {}
    busy = {"on_busy": row.on_busy} if row.on_busy else {}
    return {
        "agent": row.agent, "cron": row.cron, "time_zone": row.time_zone,
        "input": patient_json.loads(row.input), **thread, "missed": row.missed, **busy,
        "paused": row.stopped == StopReason.PAUSED,
    }  # fmt: skip
