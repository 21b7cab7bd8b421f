"""The team's feed: one order for all its readers, no gap, and an entry for each change."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .lines import Line, seq_of
from .violation import Violation

LINES = {"watch", "feed", "reset"}
Entry = tuple[str, str, str | None]
"""A type, a run and a question."""


@dataclass
class _Watcher:
    """What a reader received since it began, or since its last reset."""

    after: int | None = None
    cursors: list[int] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)


def violations(
    lines: Iterable[Line], runs: dict[str, Line], questions: dict[str, Line]
) -> Iterator[Violation]:
    watchers: defaultdict[str, _Watcher] = defaultdict(_Watcher)
    resets: list[tuple[str, _Watcher, int]] = []
    for line in lines:
        reader, watcher = line["reader"], watchers[line["reader"]]
        match line["kind"]:
            case "reset" if line["run"] is not None:
                continue
            case "reset":
                resets.append((reader, watcher, line["head"]))
                watchers[reader] = _Watcher()
            case "watch":
                watcher.after = seq_of(line["after"]) if watcher.after is None else watcher.after
            case "feed":
                cursor = seq_of(line["cursor"])
                if cursor in watcher.entries:
                    yield Violation("feed", reader, f"got {cursor} twice")
                watcher.cursors.append(cursor)
                watcher.entries[cursor] = line["type"], line["run"], line["interrupt"]
    wholes = [watcher for watcher in watchers.values() if watcher.after == 0]
    if not wholes:
        return
    whole = max(wholes, key=lambda watcher: len(watcher.cursors))
    for reader, watcher in watchers.items():
        yield from _others(reader, watcher, whole)
        yield from _gaps(reader, watcher, whole.cursors)
    for reader, watcher, head in resets:
        yield from _reset(reader, watcher, head, whole)
    yield from _owed(Counter(whole.entries.values()), runs, questions)


def _reset(reader: str, watcher: _Watcher, head: int, whole: _Watcher) -> Iterator[Violation]:
    """A reader is reset rightly if it is beyond the head, or has an entry that the feed lacks."""
    newest = max(watcher.cursors, default=head + 1)
    if newest <= head and watcher.entries.items() <= whole.entries.items():
        detail = f"at {newest} of {head}, and nothing was lost"
        yield Violation("reset", reader, f"the feed was reset {detail}")


def _others(reader: str, watcher: _Watcher, whole: _Watcher) -> Iterator[Violation]:
    for cursor, entry in watcher.entries.items():
        if whole.entries.get(cursor, entry) != entry:
            yield Violation("feed", reader, f"got another {cursor} than others")


def _gaps(reader: str, watcher: _Watcher, reference: list[int]) -> Iterator[Violation]:
    """What a reader got is one piece of the whole, from its first cursor on."""
    place = {cursor: number for number, cursor in enumerate(reference)}
    after, cursors = watcher.after, watcher.cursors
    if after == 0:
        first = 0
    elif after in place:
        first = place[after] + 1
    else:
        first = place.get(cursors[0], 0) if cursors else 0
    expected = reference[first : first + len(cursors)]
    if cursors == expected:
        return
    for wrong, right in zip(cursors, expected, strict=False):
        if wrong != right:
            yield Violation("feed", reader, f"got {wrong} in place of {right}")
            return
    yield Violation("feed", reader, f"got {len(cursors)} entries, there are {len(expected)}")


def _owed(
    counts: Counter[Entry], runs: dict[str, Line], questions: dict[str, Line]
) -> Iterator[Violation]:
    for id, run in runs.items():
        for type in ("run.created", f"run.{run['status']}"):
            if (count := counts[type, id, None]) != 1:
                yield Violation("feed", id, f"{type} is there {count} times")
        for status in ("succeeded", "failed", "cancelled", "interrupted"):
            if status != run["status"] and counts[f"run.{status}", id, None]:
                yield Violation("feed", id, f"run.{status} is there, it is {run['status']}")
    for id, question in questions.items():
        if not counts["interrupt.opened", question["run"], id]:
            yield Violation("feed", id, "interrupt.opened is not there")
