"""Every reader over every transport: each event after its cursor once, in order, as stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .failovers import Failovers
from .lines import Line, seq_of
from .logs import Log
from .violation import Violation

Key = tuple[str, str]
"""A reader and a run: one socket reads many runs."""


@dataclass
class _Place:
    """Where a reader is in a log; ``next`` survives its reconnects."""

    transport: str
    next: int
    skipped: set[int] = field(default_factory=set)
    ended: bool = False
    differs: bool = False
    """Since its last reset it was shown something that the log does not have."""


class Readers:
    """Takes the lines one by one and keeps a number for each reader, however long the history."""

    def __init__(self, logs: dict[str, Log], failovers: Failovers) -> None:
        self.logs, self.failovers = logs, failovers
        self.places: dict[Key, _Place] = {}

    def violations(self, lines: Iterable[Line]) -> Iterator[Violation]:
        for number, line in enumerate(lines, 1):
            match line["kind"]:
                case "open":
                    yield from self._open(line)
                case "event":
                    yield from self._event(line, number)
                case "end" | "leave":
                    yield from self._end(line, number)
                case "reset" if line["run"] is not None:
                    yield from self._reset(line)
        for (reader, run), place in self.places.items():
            name = f"{place.transport} {_name(reader, run)}"
            if place.skipped:
                first = min(place.skipped)
                yield Violation("lost", name, f"{len(place.skipped)} events, the first is {first}")
            if not place.ended:
                yield Violation("lost", name, f"it never got past {place.next - 1}")

    def _open(self, line: Line) -> Iterator[Violation]:
        place = self.places.get((line["reader"], line["run"]))
        after = seq_of(line["after"])
        if place is None:
            place = _Place(line["transport"], after + 1)
            self.places[line["reader"], line["run"]] = place
        elif after + 1 != place.next:
            # The reader's own mistake would look like the host's.
            yield Violation(
                "lost",
                _name(line["reader"], line["run"]),
                f"came back with {after} and had {place.next - 1}: the history is wrong",
            )

    def _event(self, line: Line, number: int) -> Iterator[Violation]:
        key, seq = (line["reader"], line["run"]), seq_of(line["seq"])
        name, place = _name(*key), self.places.get(key)
        if place is None:
            yield Violation("reordered", name, f"received {seq} before it was opened")
            return
        log = self.logs.get(line["run"], Log())
        if seq > len(log.hashes) or log.hashes[seq - 1] != line["hash"]:
            place.differs = True
            if not self.failovers.excuses(number, key):
                yield from self._other(name, line, log)
        if seq > place.next:
            place.skipped |= set(range(place.next, min(seq, len(log.hashes) + 1)))
        elif seq in place.skipped:
            place.skipped.discard(seq)
            yield Violation("reordered", name, f"got {seq} after {place.next - 1}")
        elif seq < place.next:
            yield Violation("doubled", name, f"got {seq} after {place.next - 1}")
        place.next = max(place.next, seq + 1)

    def _other(self, name: str, line: Line, log: Log) -> Iterator[Violation]:
        """Another event than that of the log: one from another place of it, or none of it."""
        seq = seq_of(line["seq"])
        if seq > len(log.hashes):
            yield Violation("lost", name, f"was shown {seq}, which the log does not have")
        elif line["hash"] in log.hashes:
            there = log.hashes.index(line["hash"]) + 1
            yield Violation("reordered", name, f"got event {there} of the log as {seq}")
        else:
            yield Violation("altered", name, f"got another {seq} than the log has")

    def _end(self, line: Line, number: int) -> Iterator[Violation]:
        key = (line["reader"], line["run"])
        place, log = self.places.get(key), self.logs.get(line["run"], Log())
        if place is None:
            yield Violation("reordered", _name(*key), "ended before it was opened")
        elif not place.ended:
            place.ended = True
            excused = self.failovers.excuses(number, key)
            if line["kind"] == "end" and place.next <= len(log.hashes) and not excused:
                rest = len(log.hashes) - place.next + 1
                yield Violation("lost", _name(*key), f"ended {rest} events too early")

    def _reset(self, line: Line) -> Iterator[Violation]:
        """The reader drops what it has and begins again from the first event."""
        key = (line["reader"], line["run"])
        place = self.places.get(key)
        if place is None:
            yield Violation("reordered", _name(*key), "was reset before it was opened")
            return
        has_all = place.next - 1 <= line["head"] and not place.differs
        if has_all and line["run"] in self.logs:
            detail = f"was reset at {place.next - 1} of {line['head']}, and nothing was lost"
            yield Violation("reset", _name(*key), detail)
        place.next, place.differs = 1, False
        place.skipped.clear()


def _name(reader: str, run: str) -> str:
    return f"{reader} of {run}"
