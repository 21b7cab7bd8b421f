"""Every reader over every transport: each event after its cursor once, in order, as stored."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .lines import Line
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


class Readers:
    """Takes the lines one by one and keeps a number for each reader, however long the history."""

    def __init__(self, logs: dict[str, Log]) -> None:
        self.logs = logs
        self.places: dict[Key, _Place] = {}
        self.events = 0

    def violations(self, lines: Iterable[Line]) -> Iterator[Violation]:
        for line in lines:
            match line["kind"]:
                case "open":
                    yield from self._open(line)
                case "event":
                    self.events += 1
                    yield from self._event(line)
                case "end" | "leave":
                    yield from self._end(line)
        for (reader, run), place in self.places.items():
            name = f"{place.transport} {_name(reader, run)}"
            if place.skipped:
                first = min(place.skipped)
                yield Violation("lost", name, f"{len(place.skipped)} events, the first is {first}")
            if not place.ended:
                yield Violation("lost", name, f"it never got past {place.next - 1}")

    def _open(self, line: Line) -> Iterator[Violation]:
        place = self.places.get((line["reader"], line["run"]))
        after = line["after"]
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

    def _event(self, line: Line) -> Iterator[Violation]:
        key, seq = (line["reader"], line["run"]), line["seq"]
        name, place = _name(*key), self.places.get(key)
        if place is None:
            yield Violation("reordered", name, f"received {seq} before it was opened")
            return
        log = self.logs.get(line["run"], Log())
        if seq > len(log.hashes):
            yield Violation("lost", name, f"was shown {seq}, which the log does not have")
        elif log.hashes[seq - 1] != line["hash"]:
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
        seq = line["seq"]
        if line["hash"] in log.hashes:
            there = log.hashes.index(line["hash"]) + 1
            yield Violation("reordered", name, f"got event {there} of the log as {seq}")
        else:
            yield Violation("altered", name, f"got another {seq} than the log has")

    def _end(self, line: Line) -> Iterator[Violation]:
        key = (line["reader"], line["run"])
        place, log = self.places.get(key), self.logs.get(line["run"], Log())
        if place is None:
            yield Violation("reordered", _name(*key), "ended before it was opened")
        elif not place.ended:
            place.ended = True
            if line["kind"] == "end" and place.next <= len(log.hashes):
                rest = len(log.hashes) - place.next + 1
                yield Violation("lost", _name(*key), f"ended {rest} events too early")


def _name(reader: str, run: str) -> str:
    return f"{reader} of {run}"
