"""The changes of an application: lines for people, and the steps after the commit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BY = "operator"
"""The actor in the audit log."""
LONGEST = 60


@dataclass
class Changes:
    """The changes of one application, in order."""

    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What waits, such as a schedule of an owner without an account."""
    secrets: list[str] = field(default_factory=list)
    """Lines for the file of keys: made now, and never shown again."""
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    """Mails, which wait for the commit."""

    def made(self, place: str, detail: str = "") -> None:
        """Something is new."""
        self.lines.append(f"+ {place}{f': {detail}' if detail else ''}")

    def changed(self, place: str, before: Any, after: Any) -> None:
        """Something has a different value."""
        self.lines.append(f"~ {place}: {_short(before)} -> {_short(after)}")

    def difference(self, place: str, row: Any, values: dict[str, Any]) -> list[str]:
        """Set the values on the row, and report each difference; their names."""
        names = []
        for name, value in values.items():
            if (before := getattr(row, name)) != value:
                self.changed(f"{place} {name}", before, value)
                setattr(row, name, value)
                names.append(name)
        return names


def _short(value: Any) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
