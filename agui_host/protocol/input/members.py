"""The one home of the rule that an unknown member is refused, so that it cannot seem to count."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from agui_host.protocol.errors import Invalid, UnknownMember

LONGEST = 60
CLOSE_ENOUGH = 0.4
HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


def known_members(data: Mapping[Any, Any], names: Collection[str]) -> dict[str, Any]:
    """The members under their own names; ``expiresAt`` is read as ``expires_at``.

    Raises UnknownMember, and Invalid for two spellings of a member with different values.
    """
    members: dict[str, Any] = {}
    for name, value in data.items():
        known = name if name in names else snake_case(str(name))
        if known not in names:
            raise unknown(str(name), names)
        if known in members and not _same(members[known], value):
            message = f"{known} is given in two spellings with different values; send it once."
            raise Invalid(message, details={"path": known})
        members[known] = value
    return members


def snake_case(name: str) -> str:
    """``expiresAt`` as ``expires_at``; long names, which no one uses, are cut."""
    cut = name[: 2 * LONGEST]
    return HUMP.sub(r"_\1", cut).lower() if name.isalnum() and name[:1].islower() else cut


def unknown(name: str, names: Collection[str]) -> UnknownMember:
    """The error for an unknown name, with the nearest known name."""
    known = sorted(names)
    near = get_close_matches(snake_case(name).lower()[:LONGEST], known, 1, CLOSE_ENOUGH)
    hint = f"; the nearest is {near[0]}" if near else ""
    excerpt = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    listed = f"Known: {', '.join(known)}." if known else "Send no members."
    return UnknownMember(
        f"{excerpt!r} is not known here{hint}. {listed}",
        details={"path": name[:LONGEST], "nearest": near[0] if near else None, "known": known},
    )


def _same(one: Any, other: Any) -> bool:
    # True equals 1 in Python, but not in JSON.
    return type(one) is type(other) and bool(one == other)
