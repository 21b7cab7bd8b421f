"""The person for whom a key started a run: an end user, as a signed token named them."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Person:
    """``id`` is the token's ``sub``; ``via`` the label of the key that acts for the person."""

    id: str
    via: str = ""
    name: str = ""
    email: str = ""
    claims: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, sub: str, via: str, claims: str | None) -> "Person | None":
        """The person of a run; None if it was started for no end user."""
        if not sub:
            return None
        values = json.loads(claims or "{}")
        return cls(sub, via, values.get("name", ""), values.get("email", ""), values)
