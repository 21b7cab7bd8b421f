"""JSON for people to read: indented, and cut where it gets too long to read."""

import json
from typing import Any

LONGEST = 20_000


def indented(value: Any) -> str:
    """The text of a JSON value, at most LONGEST characters."""
    return json.dumps(value, indent=2, ensure_ascii=False)[:LONGEST]
