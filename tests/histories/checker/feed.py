"""The team's feed: one order for all its readers, no gap, and an entry for each change."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .violation import Violation

Entry = tuple[str, str, str | None]
"""A type, a run and a question."""


def violations(
    lines: Iterable[Line], runs: dict[str, Line], questions: dict[str, Line]
) -> Iterator[Violation]:
    began: dict[str, object] = {}
    cursors: defaultdict[str, list[object]] = defaultdict(list)
    entries: dict[object, Entry] = {}
    for line in lines:
        reader = line["reader"]
        if line["kind"] == "watch":
            began.setdefault(reader, line["after"])
            continue
        cursor, entry = line["cursor"], (line["type"], line["run"], line["interrupt"])
        if cursor in cursors[reader]:
            yield Violation("feed", reader, f"got {cursor} twice")
        if entries.setdefault(cursor, entry) != entry:
            yield Violation("feed", reader, f"got another {cursor} than others")
        cursors[reader].append(cursor)
    whole = max(
        (reader for reader, after in began.items() if after == 0),
        key=lambda reader: len(cursors[reader]),
        default=None,
    )
    if whole is None:
        return
    reference = cursors[whole]
    for reader, after in began.items():
        yield from _gaps(reader, after, cursors[reader], reference)
    yield from _owed(Counter(entries[cursor] for cursor in set(reference)), runs, questions)


def _gaps(
    reader: str, after: object, cursors: list[object], reference: list[object]
) -> Iterator[Violation]:
    """What a reader got is one piece of the whole, from its first cursor on."""
    place = {cursor: number for number, cursor in enumerate(reference)}
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
