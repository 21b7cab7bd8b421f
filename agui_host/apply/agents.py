"""A team's agents, of every kind."""

import os
from typing import Any

from django.core.exceptions import ValidationError

from agui_host.apply.changes import BY, Changes
from agui_host.apply.document import AgentValues, BadFile, FromEnvironment, env_of
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.kinds import kinds, on_behalf
from agui_host.runtimes.middleware import keys
from agui_host.runtimes.models import Agent, Policy
from agui_host.runtimes.team_agents import (
    check_recovery,
    check_schema,
    checked_secret,
    merged_headers,
    origin,
    secrets_of,
)
from agui_host.runtimes.team_options import check_addresses
from agui_host.security.addresses import check_url
from agui_host.teams import audit
from agui_host.teams.models import Team

SECRETS = ("headers", "on_behalf_of")
COLUMNS = tuple(
    name
    for name in AgentValues.model_fields
    if name not in ("kind", "url", "target", *keys.SECTIONS, *SECRETS)
)
"""The members that are columns of the same name, with values that may be shown."""
NULLABLE = ("timeout_seconds", "state_schema", "worker_grace")


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
    before = row.target
    try:
        names = own.difference(place, row, _columns(row, values))
        if "enabled" in names:
            row.withdrawn = False  # From now on it is the operator's word.
        if values.recovery is not None:
            check_recovery(row)
        if values.state_schema is not None:
            check_schema(values.state_schema, "state_schema", "state_schema")
        names += _set_lists(place, row, values, own)
        names += _set_secrets(
            place, row, values, own, is_moved=origin(before) != origin(row.target)
        )
    except Invalid as invalid:
        where = ".".join(("teams", team.slug, "agents", slug, *_path(invalid)))
        raise BadFile(f"{where}: {invalid.message}") from None
    if not is_new and not names:
        return
    _save(team, slug, row)
    if is_new:
        changes.made(place, row.kind)
        audit.record(BY, team, "agent.created", slug, kind=row.kind)
    else:
        changes.lines += own.lines
        audit.record(BY, team, "agent.changed", slug, fields=sorted(names))


def _columns(row: Agent, values: AgentValues) -> dict[str, Any]:
    members = values.present()
    columns = {
        name: members[name]
        for name in COLUMNS
        if name in members and (members[name] is not None or name in NULLABLE)
    }
    columns["kind"] = values.kind
    if kinds.of(values.kind).remote:
        if not values.url:
            raise Invalid("a remote agent needs a url", details={"path": "url"})
        check_url(values.url)
        columns["target"] = values.url
    elif values.url is not None:
        raise Invalid("only agents of the kind http have it", details={"path": "url"})
    elif values.target is not None:
        columns["target"] = values.target
    return columns


def _set_lists(place: str, row: Agent, values: AgentValues, changes: Changes) -> list[str]:
    """Set the middleware and the providers, and report each difference without its keys."""
    names = []
    for name in keys.SECTIONS:
        entries = getattr(values, name)
        if entries is None:
            continue
        entries = keys.each_key(entries, _key_text)
        stored = getattr(row, name)
        if entries in (stored, keys.taken_out(stored, row.keys_of(name))):
            continue
        check_addresses(name, stored, entries)
        if keys.mentioned([stored, entries]):
            changes.lines.append(f"~ {place} {name}: {', '.join(map(_name, entries)) or 'none'}")
        else:
            changes.changed(f"{place} {name}", stored, entries)
        setattr(row, name, entries)
        names.append(name)
    return names


def _set_secrets(
    place: str, row: Agent, values: AgentValues, changes: Changes, *, is_moved: bool
) -> list[str]:
    """Set the headers and the secret, of which a different address gets no old ones."""
    before = secrets_of(row)
    headers, secret = before.get("headers", {}), before.get(on_behalf.SECTION, "")
    if is_moved:
        headers, secret = {}, ""
    if values.headers is not None:
        texts = {name: _text(value, "headers") for name, value in values.headers.items()}
        headers = merged_headers({}, texts)
    if "on_behalf_of" in values.model_fields_set:
        secret = checked_secret(_text(values.on_behalf_of, "on_behalf_of"))
    names = []
    if headers != before.get("headers", {}):
        changes.lines.append(f"~ {place} headers: {', '.join(sorted(headers)) or 'none'}")
        names.append("headers")
    if secret != before.get(on_behalf.SECTION, ""):
        changes.lines.append(f"~ {place} on_behalf_of: {'another' if secret else 'none'}")
        names.append("on_behalf_of")
    if names:
        row.seal({**before, "headers": headers, on_behalf.SECTION: secret})
    return names


def _text(value: Any, member: str) -> Any:
    """The value, or that of the variable that it names. Raises Invalid."""
    if not isinstance(value, FromEnvironment):
        return value
    if (text := os.environ.get(value.env)) is None:
        raise Invalid(f"the environment has no variable {value.env}", details={"path": member})
    return text


def _key_text(value: Any) -> Any:
    return _text(env_of(value) or value, keys.MEMBER)


def _name(entry: dict[str, Any]) -> str:
    return str(entry.get("name", ""))


def _path(invalid: Invalid) -> list[str]:
    path = (invalid.details or {}).get("path")
    return [str(path)] if path else []


def _save(team: Team, slug: str, row: Agent) -> None:
    try:
        row.full_clean(exclude=["team"])
        if row.is_default:
            others = Agent.objects.for_team(team).filter(is_default=True).exclude(pk=row.pk)
            others.update(is_default=False)
        row.save()
    except ValidationError as bad:
        raise BadFile(f"teams.{team.slug}.agents.{slug}: {'; '.join(bad.messages)}") from None
