"""JSON for people to read: indented, and cut where it gets too long to read; or as plain rows."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

LONGEST = 20_000
MOST_ROWS = 12
LONGEST_ROW = 300
DEEPEST = 3


def indented(value: Any) -> str:
    """The text of a JSON value, at most LONGEST characters."""
    return json.dumps(value, indent=2, ensure_ascii=False)[:LONGEST]


def rows(value: Any) -> list[tuple[str, str]]:
    """The members of a small JSON object as names and texts; none for a larger one.

    A member of a member has the path to it as its name: ``customer id``.
    """
    first = list(islice(_members(value, "", DEEPEST), MOST_ROWS + 1))
    is_small = len(first) <= MOST_ROWS and all(len("".join(row)) <= LONGEST_ROW for row in first)
    return first if is_small and isinstance(value, dict) else []


def _members(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list) and value and depth:
        members = value.items() if isinstance(value, dict) else enumerate(value, 1)
        for name, member in members:
            yield from _members(member, f"{path} {name}".strip(), depth - 1)
    elif isinstance(value, bool):
        yield path, "yes" if value else "no"
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
