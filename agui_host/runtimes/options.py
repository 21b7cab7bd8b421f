"""Checks an agent's lists of ``{"name": …, option: …}`` against the available kinds."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

MOST = 20


K = TypeVar("K")


class BadOptions(ValueError):
    """A list that cannot be used; the message names the entry and the reason."""


def parse_options(
    entries: Any, kinds: Mapping[str, K], what: str, such: str
) -> list[tuple[K, Any]]:
    """Each entry's kind and options. ``what``: the list's name; ``such``: a kind, as an example.

    Raises BadOptions.
    """
    if not isinstance(entries, list):
        raise BadOptions(f'{what} must be a list of objects such as {{"name": "{such}"}}.')
    if len(entries) > MOST:
        raise BadOptions(f"An agent can have at most {MOST} {what}.")
    return [_entry(f"{what}[{n}]", entry, kinds) for n, entry in enumerate(entries)]


def _entry(where: str, entry: Any, kinds: Mapping[str, Any]) -> tuple[Any, Any]:
    name = entry.get("name") if isinstance(entry, dict) else None
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(sorted(kinds))
        raise BadOptions(f'{where} needs a "name", one of: {known}.')
    options = {key: value for key, value in entry.items() if key != "name"}
    try:
        return kind, kind.Options.model_validate(options)
    except ValidationError as bad:
        problems = "; ".join(_problem(error) for error in bad.errors(include_input=False))
        raise BadOptions(f"{where} ({name}): {problems}.") from None


def _problem(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"unknown option {where!r}"
    return f"{where}: {error['msg']}" if where else str(error["msg"])
