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
    """The findings of one run, handed over in batches; ``new`` are those since the last one."""

    __slots__ = ("_more", "new", "total")

    def __init__(self) -> None:
        self.total = 0
        self.new: list[Finding] = []
        self._more: Counter[tuple[str, str]] = Counter()

    def add(self, seq: int, rule: str, action: str, times: int = 1) -> None:
        """Note a finding; beyond ``LIMIT`` findings are counted by rule and action only."""
        self.total += 1
        if self.total <= LIMIT:
            self.new.append(Finding(seq, rule, action, times))
        else:
            self._more[rule, action] += times

    def dump(self) -> dict[str, Any]:
        """The counts, as JSON; what ``take`` returns is not part of them."""
        return {"total": self.total, "more": [[*kind, n] for kind, n in self._more.items()]}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.total = dumped["total"]
        self._more = Counter({(rule, action): n for rule, action, n in dumped["more"]})

    def take(self, end: int | None = None) -> list[Finding]:
        """The findings since the last call; with the run's last ``seq`` also the counted ones."""
        if not self.new and (end is None or not self._more):
            return []
        batch, self.new = self.new, []
        if end is not None:
            batch += [Finding(end, *kind, times) for kind, times in self._more.items()]
            self._more.clear()
        return batch


MEANINGS = {
    "inserted_start": "A piece of something that was not open; its beginning was put before it.",
    "dropped": "An event, or a value of one, that had no place here; it was left out.",
    "closed": "Something was still open at the end; it was closed first.",
    "restated": "A patch that does not apply; it was replaced by the state as it is.",
    "wrapped": "An event of an unknown type; it is stored as RAW.",
    "translated": "An older or misspelt form, or another unit; it was translated.",
    "coerced": "A value of another type, or not JSON; it was made text.",
    "continued": "A chunk without an id; it continues the part that was open before.",
    "renamed": "An id that the thread has used; it got another one.",
    "failed": "An event that cannot be mended; it ended the run.",
    "left_out": "A second result of a call in the thread, or one without a call; it was left out.",
    "moved": "A result in the thread away from its call; the agent got it after the call.",
    "answered": "A call in the thread without a result; the agent got a substitute.",
    "skipped": "A context provider failed or was late; the agent began without its entries.",
    "unmatched": "The state at the end does not match the agent's schema.",
    "completed": "Arguments in the thread that are no JSON; the agent got them completed.",
}
"""What each action means, for people."""
