"""Findings: what intake had to mend or refuse in one run's events."""

from collections import Counter
from typing import Any, NamedTuple

LIMIT = 1000
"""How many findings of a run are stored one by one; further ones are only counted."""


class Finding(NamedTuple):
    """``rule`` was broken ``times`` times at ``seq``; ``action`` is what intake did about it.

    ``seq`` belongs to the event that was inserted or, if one was left out, to the next event.
    """

    seq: int
    rule: str
    action: str
    times: int = 1


class Findings:
    """The findings of one run, handed over in batches."""

    __slots__ = ("_more", "_new", "total")

    def __init__(self) -> None:
        self.total = 0
        self._new: list[Finding] = []
        self._more: Counter[tuple[str, str]] = Counter()

    def add(self, seq: int, rule: str, action: str) -> None:
        self.total += 1
        if self.total <= LIMIT:
            self._new.append(Finding(seq, rule, action))
        else:
            self._more[rule, action] += 1

    def dump(self) -> dict[str, Any]:
        """The counts, as JSON; what ``take`` returns is not part of them."""
        return {"total": self.total, "more": [[*kind, n] for kind, n in self._more.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        self.total = dumped["total"]
        self._more = Counter({(rule, action): n for rule, action, n in dumped["more"]})

    def take(self, end: int | None = None) -> list[Finding]:
        """The findings since the last call; with the run's last ``seq`` also the counted ones."""
        if not self._new and (end is None or not self._more):
            return []
        batch, self._new = self._new, []
        if end is not None:
            batch += [Finding(end, *kind, times) for kind, times in self._more.items()]
            self._more.clear()
        return batch
