"""A team's API keys, which are made once and never changed."""

from datetime import timedelta
from typing import Any

from agui_host.apply.changes import Changes
from agui_host.apply.document import BadFile, KeyValues
from agui_host.backends.postgres import clock
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Role, Team

DAY = timedelta(days=1)


def values_of(row: ApiKey) -> dict[str, Any]:
    """The key as a file describes it: a value for each member of KeyValues."""
    return {
        "role": row.role,
        "scopes": list(row.scopes),
        "agents": None if row.agents is None else list(row.agents),
        "days": _days(row),
    }


def apply_key(team: Team, name: str, values: KeyValues, changes: Changes) -> None:
    """Make the key. Raises BadFile if the usable key of this name differs in any member."""
    rows = ApiKey.objects.for_team(team).filter(name=name).order_by("-created")
    row = next((row for row in rows if keys.usable(row)), None)
    if row is None:
        expires = clock.now() + values.days * DAY if values.days else None
        role = Role(values.role)
        _, key = keys.create_key(
            team, name, role, None, expires, scopes=values.scopes, agents=values.agents
        )
        changes.made(f"{team.slug} key {name}", values.role)
        changes.secrets.append(f"{team.slug} key {name} {key}")
        return
    present = values_of(row)
    for member, value in values.model_dump().items():
        if _plain(value) != _plain(present[member]):
            raise BadFile(
                f"teams.{team.slug}.keys.{name}.{member}: the key has {_text(present[member])},"
                " and a key cannot change; revoke it, or give the new one a different name"
            )


def _days(row: ApiKey) -> int | None:
    # Rounded: a key begins some milliseconds after its end was computed.
    if row.expiry_date is None:
        return None
    return max(1, round((row.expiry_date - row.created) / DAY))


def _plain(value: Any) -> Any:
    # The order of scopes and agents means nothing.
    return sorted(set(value)) if isinstance(value, list) else value


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return f"[{', '.join(sorted(value))}]" if isinstance(value, list) else str(value)
