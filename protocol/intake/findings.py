"""Findings: what intake had to mend or refuse in one run's events."""

from collections import Counter
from typing import NamedTuple

LIMIT = 1000
"""Findings of one run that are kept one by one; the rest is counted."""


class Finding(NamedTuple):
    """``rule`` was broken ``times`` times at ``seq``, and ``action`` says what intake did.

    ``seq`` is that of the event put in, or of the next one where an event was left out.
    """

    seq: int
    rule: str
    action: str
    times: int = 1


class Findings:
    """The findings of one run, handed on in portions."""

    __slots__ = ("_more", "_new", "total")

    def __init__(self) -> None:
        self.total = 0
        self._new: list[Finding] = []
        self._more: Counter[tuple[str, str]] = Counter()

    def add(self, seq: int, rule: str, action: str) -> None:
        """One more."""
        self.total += 1
        if self.total <= LIMIT:
            self._new.append(Finding(seq, rule, action))
        else:
            self._more[rule, action] += 1

    def take(self, end: int | None = None) -> list[Finding]:
        """Those that were not taken yet; with the run's last ``seq``, the counted ones too."""
        if not self._new and (end is None or not self._more):
            return []
        found, self._new = self._new, []
        if end is not None:
            found += [Finding(end, *kind, times) for kind, times in self._more.items()]
            self._more.clear()
        return found
