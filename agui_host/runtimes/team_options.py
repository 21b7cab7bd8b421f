"""The middleware and context providers of an agent, as a team sets and sees them.

A team can set entries whose class has ``of_team``. An operator's other entries are shown to the
team by name only; the team can keep them, by that name, or remove them.
"""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.errors import Invalid
from agui_host.runtimes.middleware import chain, keys
from agui_host.runtimes.middleware.table import MIDDLEWARE
from agui_host.runtimes.models import Agent
from agui_host.runtimes.options import BadOptions
from agui_host.runtimes.providers import chain as context
from agui_host.runtimes.providers.table import PROVIDERS
from agui_host.security.addresses import check_url

TABLES: Mapping[str, Mapping[str, Any]] = {
    "middleware": MIDDLEWARE,
    "context_providers": PROVIDERS,
}
PARSE = {"middleware": chain.parse, "context_providers": context.parse}
Entry = dict[str, Any]


def visible(row: Agent, field: str) -> list[Entry]:
    """The agent's entries, without an operator's options; keys are references."""
    entries: list[Entry] = getattr(row, field)
    return [entry if _is_of_team(field, entry) else {"name": entry["name"]} for entry in entries]


def put(row: Agent, field: str, entries: list[Entry]) -> None:
    """Set the agent's ``field``. Raises Invalid and AddressRefused; the caller saves the row."""
    stored: list[Entry] = getattr(row, field)
    remaining = [entry for entry in stored if not _is_of_team(field, entry)]
    merged = [_merged(field, place, entry, remaining) for place, entry in enumerate(entries)]
    try:
        PARSE[field](merged)
    except BadOptions as bad:
        raise Invalid(str(bad), details={"path": field}) from None
    check_addresses(field, stored, merged)
    setattr(row, field, merged)


def check_addresses(field: str, stored: list[Entry], entries: list[Entry]) -> None:
    """Raises AddressRefused, and Invalid for a stored key that would go to another address.

    A person who can change an address must not use it to learn a stored key.
    """
    known = [(_origin(url), secret) for url, secret in _places(stored)]
    for url, secret in _places(entries):
        if url:
            check_url(url)
        if secret and (_origin(url), secret) not in known:
            raise Invalid(
                "A stored api_key works for its own address only; send the key.",
                details={"path": field},
            )


def _is_of_team(field: str, entry: Entry) -> bool:
    return bool(getattr(TABLES[field].get(entry["name"]), "of_team", False))


def _merged(field: str, place: int, entry: Entry, remaining: list[Entry]) -> Entry:
    name = entry.get("name")
    if not isinstance(name, str) or name not in TABLES[field] or _is_of_team(field, entry):
        return entry  # The parser explains an unknown name.
    for stored in remaining:
        if stored["name"] == name and entry in (stored, {"name": name}):
            remaining.remove(stored)
            return stored
    raise Invalid(f"{field}[{place}]: only the operator can add {name!r}.", details={"path": field})


def _places(value: Any, around: str = "") -> list[tuple[str, str]]:
    """The URL and the reference of each object with either: ``("", "")`` for an absent one.

    A URL counts for all that is within its object, which is sent to it.
    """
    if isinstance(value, list):
        return [place for part in value for place in _places(part, around)]
    if not isinstance(value, dict):
        return []
    url, key = value.get("url"), value.get(keys.MEMBER)
    secret = key.get("secret") if isinstance(key, dict) else None
    target = around or (url if isinstance(url, str) else "")
    place = (target, secret if isinstance(secret, str) else "")
    below = [place for part in value.values() for place in _places(part, target)]
    return [place, *below] if any(place) else below


def _origin(url: str) -> list[str]:
    return url.lower().split("/")[:3]
