"""API keys in a chain or a list of providers: kept in the agent's secrets, with references."""

from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import Any

from agui_host.runtimes.middleware.base import Options

MEMBER = "api_key"
SECTIONS = ("middleware", "context_providers")
"""The lists of an agent that can have keys, and the sections of its secrets with those."""


class StoredSecret(Options):
    """Replaces a key that was stored as a secret."""

    secret: str


def mentioned(entries: Any) -> bool:
    """Whether the chain contains a key, or a reference to one."""
    if isinstance(entries, dict):
        return MEMBER in entries or any(map(mentioned, entries.values()))
    return isinstance(entries, list) and any(map(mentioned, entries))


def put_away(entries: list[Any], known: Mapping[str, str]) -> tuple[list[Any], dict[str, str]]:
    """The chain as it is stored, and the keys, by name, that it refers to."""
    keys: dict[str, str] = {}

    def store(value: Any) -> Any:
        if isinstance(value, str):
            name = token_hex(8)
            keys[name] = value
            return {"secret": name}
        name = _name(value)
        if name in known:
            keys[name] = known[name]
        return value

    return each_key(entries, store), keys


def taken_out(entries: list[Any], known: Mapping[str, str]) -> list[Any]:
    """The chain with its keys; a missing one is None."""
    return each_key(entries, lambda value: known.get(_name(value)) if _name(value) else value)


def are_known(entries: list[Any], known: Mapping[str, str]) -> bool:
    """Whether each key that the chain refers to is there."""
    names: list[str] = []
    each_key(entries, lambda value: names.append(_name(value)))
    return all(not name or name in known for name in names)


def _name(value: Any) -> str:
    return str(value.get("secret", "")) if isinstance(value, dict) else ""


def each_key(entries: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """A copy of a chain with ``change`` applied to every member called ``api_key``."""

    def copied(value: Any) -> Any:
        if isinstance(value, list):
            return [copied(part) for part in value]
        if isinstance(value, dict):
            return {k: change(v) if k == MEMBER else copied(v) for k, v in value.items()}
        return value

    return [copied(entry) for entry in entries]
