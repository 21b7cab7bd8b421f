"""A team's agents, of every kind."""

import os
from typing import Any

from django.core.exceptions import ValidationError

from agui_host.apply.changes import BY, Changes
from agui_host.apply.document import AgentValues, BadFile
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import Agent, Policy
from agui_host.runtimes.team_agents import secrets_of
from agui_host.security.addresses import check_url
from agui_host.teams import audit
from agui_host.teams.models import Team

APART = ("kind", "url", "target", "headers")
"""The members that are not columns of the same name."""


def apply_agent(team: Team, slug: str, values: AgentValues, changes: Changes) -> None:
    """Make the team's agent, or change it. Raises BadFile."""
    place = f"{team.slug} agent {slug}"
    row = Agent.objects.for_team(team).filter(slug=slug).first()
    is_new = row is None
    if row is None:
        row = Agent(team=team, slug=slug, name=values.name or slug, kind=values.kind)
        if row.is_fed:
            row.policy = Policy.FAIL
    own = Changes()
    names = own.difference(place, row, _columns(team, slug, values))
    if values.headers is not None:
        headers = {name: _secret(team, slug, value) for name, value in values.headers.items()}
        secrets = secrets_of(row)
        if secrets.get("headers", {}) != headers:
            own.lines.append(f"~ {place} headers: {', '.join(sorted(headers)) or 'none'}")
            row.seal({**secrets, "headers": headers})
            names.append("headers")
    if not is_new and not names:
        return
    _save(team, slug, row)
    if is_new:
        changes.made(place, row.kind)
        audit.record(BY, team, "agent.created", slug, kind=row.kind)
    else:
        changes.lines += own.lines
        audit.record(BY, team, "agent.changed", slug, fields=sorted(names))


def _columns(team: Team, slug: str, values: AgentValues) -> dict[str, Any]:
    members = values.present()
    columns = {name: value for name, value in members.items() if name not in APART}
    columns = {
        name: value for name, value in columns.items() if value is not None or name.startswith("ti")
    }
    columns["kind"] = values.kind
    if kinds.of(values.kind).remote:
        if not values.url:
            raise BadFile(f"teams.{team.slug}.agents.{slug}.url: a remote agent needs a url")
        check_url(values.url)
        columns["target"] = values.url
    elif values.url is not None:
        raise BadFile(f"teams.{team.slug}.agents.{slug}.url: only agents of the kind http have it")
    elif values.target is not None:
        columns["target"] = values.target
    return columns


def _secret(team: Team, slug: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if (text := os.environ.get(value.env)) is None:
        place = f"teams.{team.slug}.agents.{slug}.headers"
        raise BadFile(f"{place}: the environment has no variable {value.env}")
    return text


def _save(team: Team, slug: str, row: Agent) -> None:
    try:
        row.full_clean(exclude=["team"])
        if row.is_default:
            others = Agent.objects.for_team(team).filter(is_default=True).exclude(pk=row.pk)
            others.update(is_default=False)
        row.save()
    except ValidationError as bad:
        raise BadFile(f"teams.{team.slug}.agents.{slug}: {'; '.join(bad.messages)}") from None
