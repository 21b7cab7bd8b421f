"""The checker finds nothing in a clean history, and each planted violation by its name."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.histories import clean
from tests.histories.checker import KINDS, BadHistory, Line, check, read
from tests.histories.checker.lines import MEMBERS, checked, hash_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Plant = Callable[[list[Line]], object]


def kinds(lines: list[Line]) -> set[str]:
    violations, _ = check(lambda: iter(lines))
    return {violation.kind for violation in violations}


def place(lines: list[Line], **members: object) -> int:
    """Where the first line with these members is; rather one after the failover."""
    failover = next(n for n, line in enumerate(lines) if line["kind"] == "failover")
    places = [n for n, line in enumerate(lines) if members.items() <= line.items()]
    return next((n for n in places if n >= failover), places[0])


def drop(**members: object) -> Plant:
    return lambda lines: lines.pop(place(lines, **members))


def repeat(**members: object) -> Plant:
    def plant(lines: list[Line]) -> None:
        at = place(lines, **members)
        lines.insert(at, dict(lines[at]))

    return plant


def change(fresh: dict[str, object], **members: object) -> Plant:
    return lambda lines: lines[place(lines, **members)].update(fresh)


def add(fresh: Line, **members: object) -> Plant:
    """A line like the first with these members, but for what is different."""
    return lambda lines: lines.append({**lines[place(lines, **members)], **fresh})


def insert(fresh: Line, **members: object) -> Plant:
    """A line before the first with these members."""
    return lambda lines: lines.insert(place(lines, **members), fresh)


def swap(first: dict[str, object], second: dict[str, object]) -> Plant:
    def plant(lines: list[Line]) -> None:
        one, other = place(lines, **first), place(lines, **second)
        lines[one], lines[other] = lines[other], lines[one]

    return plant


def exchange(member: str, first: dict[str, object], second: dict[str, object]) -> Plant:
    """Two lines stay where they are and exchange a member."""

    def plant(lines: list[Line]) -> None:
        one, other = lines[place(lines, **first)], lines[place(lines, **second)]
        one[member], other[member] = other[member], one[member]

    return plant


def number(seq: int, kind: str = "event", **members: object) -> dict[str, object]:
    return {"kind": kind, "run": "r1", "seq": seq, **members}


def entry(cursor: int) -> dict[str, object]:
    return {"kind": "feed", "reader": "late", "cursor": cursor}


OF_A = {"reader": "a"}
BATCHES: list[dict[str, object]] = [
    {"kind": "batch", "number": 0},
    {"kind": "batch", "status": 204},
]
OF_R4: dict[str, object] = {"kind": "delivery", "run": "r4", "type": "run.failed"}
RESET: Line = {"kind": "reset", "reader": "a", "run": "r1", "epoch": 2, "head": 8}
SYNCHRONOUS: dict[str, object] = {"standby": "synchronous"}
FIRST = clean.payloads("r1")[0]
CUSTOM: dict[str, object] = {"payload": '{"type": "CUSTOM"}'}
ACCEPTED: dict[str, object] = {"status": 200, "run": "r3"}
NO_SUCH_END: Line = {"cursor": 99, "type": "run.failed", "run": "r1"}
END_OF_LOG = number(8, "log")
FINISHED = json.dumps({"type": "RUN_FINISHED"})
PLANTED: list[tuple[str, str, Plant]] = [
    ("lost", "an event of a reader", drop(**number(5, **OF_A))),
    ("lost", "the last event of a reader", drop(**number(8, **OF_A))),
    ("lost", "the end of a reader", drop(kind="end", run="r1")),
    ("lost", "an event of the log", drop(**number(5, "log"))),
    ("lost", "the log ends before what a reader was shown", drop(**END_OF_LOG)),
    ("lost", "the log is shorter than its run says", change({"head": 9}, kind="run", run="r1")),
    ("lost", "a batch", change({"texts": ["gone"]}, kind="batch", number=0)),
    ("lost", "a repeated batch", change({"texts": ["x"]}, kind="batch", status=204)),
    ("doubled", "an event of a reader", repeat(**number(5, **OF_A))),
    ("doubled", "an event that came before a cut", lambda lines: lines.insert(
        place(lines, **number(4, **OF_A)), dict(lines[place(lines, **number(3, **OF_A))]))),
    ("doubled", "an event of the log", repeat(**number(5, "log"))),
    ("doubled", "a batch", change({"payload": clean.payloads("r1")[4]}, **number(6, "log"))),
    ("reordered", "two events of a reader", swap(number(5, **OF_A), number(6, **OF_A))),
    ("reordered", "their contents", exchange("hash", number(5, **OF_A), number(6, **OF_A))),
    ("reordered", "two events of the log", swap(number(5, "log"), number(6, "log"))),
    ("reordered", "two batches", exchange("texts", BATCHES[0], BATCHES[1])),
    ("altered", "an event of a reader", change({"hash": "0" * 16}, **number(5, **OF_A))),
    ("altered", "an event of the log", change(CUSTOM, **number(2, "log"))),
    ("terminal", "another status", change({"status": "failed"}, kind="run", run="r1")),
    ("terminal", "none", change(CUSTOM, **END_OF_LOG)),
    ("terminal", "two", change({"payload": FINISHED}, **number(7, "log"))),
    ("terminal", "an event after it", add({"seq": 9, **CUSTOM}, **END_OF_LOG)),
    ("terminal", "a run that never ends", change({"status": "running"}, kind="run", run="r1")),
    ("start", "no such run", change({"run": "gone"}, kind="start", key="k4")),
    ("start", "a log without a run", drop(kind="run", run="r4")),
    ("idempotency", "one key, two answers", change({"run": "r4"}, kind="start", key="k1")),
    ("idempotency", "an unknown run", add({"run": "r6", "head": 0}, kind="run", run="r1")),
    ("idempotency", "two keys, one run", change({"run": "r4"}, kind="start", key="k5")),
    ("idempotency", "two bodies", change({"body": "other"}, kind="start", key="k1")),
    ("answer", "two accepted", change(ACCEPTED, kind="answer", client="bob")),
    ("answer", "the refused one is stored", change({"value": "no"}, kind="question")),
    ("answer", "the accepted one is not stored", change({"value": None}, kind="question")),
    ("answer", "the question is gone", drop(kind="question")),
    ("answer", "its run is gone", change({"run": "gone"}, kind="answer", client="ann")),
    ("feed", "a gap", drop(**entry(6))),
    ("feed", "its first entry is missing", drop(**entry(4))),
    ("feed", "an entry twice", repeat(**entry(6))),
    ("feed", "another order", swap(entry(6), entry(7))),
    ("feed", "another entry than others got", change({"type": "run.failed"}, **entry(6))),
    ("feed", "an entry that is owed", change({"run": "r9"}, kind="feed", cursor=1)),
    ("feed", "an end that was not", add(NO_SUCH_END, kind="feed", reader="all")),
    ("webhook", "a message did not come", drop(kind="delivery", run="r4")),
    ("webhook", "a question was not announced", drop(kind="delivery", interrupt="q")),
    ("webhook", "two ids", add({"id": "m99"}, kind="delivery", run="r4")),
    ("webhook", "two bodies", add({"hash": "other"}, kind="delivery", run="r4")),
    ("webhook", "not owed", add({"id": "m99", "type": "run.failed"}, kind="delivery", run="r1")),
    ("tick", "no run", drop(kind="tick")),
    ("tick", "two runs", add({"run": "r4"}, kind="tick")),
    ("tick", "no such run", change({"run": "gone"}, kind="tick")),
    ("tick", "not owed", change({"at": "2026-11-26T09:01:00+00:00"}, kind="schedule")),
    ("webhook", "its start is later", change(
        {"at": "2026-11-26T09:00:01+00:00"}, kind="delivery", type="run.started")),
    ("final", "another attempt follows", change({"final": True}, **OF_R4)),
    ("final", "no other attempt follows", change({"repeats": None}, kind="run", run="r6")),
    ("final", "a wrong attempt", change({"repeated_by": "r1"}, **OF_R4)),
    ("answer", "two runs continue", add({"run": "r1"}, kind="answer", client="ann")),
    ("reset", "nothing was lost", insert(RESET, **number(5, **OF_A))),
    ("reset", "nothing of the feed was lost", insert(
        {**RESET, "run": None, "reader": "late"}, **entry(6))),
    ("lost", "the standby was synchronous", change(SYNCHRONOUS, kind="failover")),
    ("start", "the standby was synchronous", change(SYNCHRONOUS, kind="failover")),
    ("dialect", "the standby was synchronous", change(SYNCHRONOUS, kind="failover")),
    ("altered", "the reader was not told", drop(kind="reset", run="r1")),
    ("lost", "the reader was not told", drop(kind="reset", run="r1")),
    ("feed", "its reader was not told", drop(kind="reset", run=None)),
    ("lost", "an event after a reset", drop(kind="event", reader="x", hash=hash_of(FIRST))),
    ("start", "no such run after a failover", add({"run": "gone"}, kind="start", key="k4")),
    ("dialect", "another text", change({"text": "0" * 16}, kind="text", run="r1")),
    ("dialect", "another end", change({"terminal": "failed"}, kind="text", run="r1")),
]  # fmt: skip


def test_a_clean_history_has_none() -> None:
    lines = list(checked(clean.history()))
    violations, counts = check(lambda: iter(lines))
    assert violations == []
    assert counts.keys() == MEMBERS.keys(), "a kind of line without which the test is worth less"


@pytest.mark.parametrize(
    ("kind", "plant"),
    [(kind, plant) for kind, _, plant in PLANTED],
    ids=[f"{kind}: {name}" for kind, name, _ in PLANTED],
)
def test_a_planted_violation_is_named(kind: str, plant: Plant) -> None:
    lines = clean.history()
    plant(lines)
    assert kind in kinds(list(checked(lines)))


def test_every_kind_was_planted() -> None:
    assert {kind for kind, _, _ in PLANTED} == KINDS.keys()


@pytest.mark.parametrize("line", [{"kind": "evnt"}, {"kind": "end", "reader": "a"}, {}])
def test_a_line_that_is_not_understood_is_refused(line: Line) -> None:
    with pytest.raises(BadHistory):
        list(checked([line]))


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def judge(path: Path) -> subprocess.CompletedProcess[str]:
    """By a Python that has the standard library and no other package, as on anyone's machine."""
    return subprocess.run(
        [sys.executable, "-S", "-E", "-m", "checker", str(path)],
        cwd=HERE, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_it_runs_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", clean.history())
    done = judge(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert ": 0 wrong (" in done.stdout
    lines = list(read(path))
    drop(**number(5, **OF_A))(lines)
    done = judge(write(path, lines))
    assert done.returncode == 1
    assert done.stdout.startswith("lost: sse a of r1: 1 events, the first is 5\n")


def test_the_page_names_every_kind() -> None:
    page = (ROOT / "docs" / "histories.md").read_text("utf-8")
    violations, lines = page.split("\n## Violations")[1].split("\n## ")
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", violations, re.MULTILINE)) == KINDS
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| .+ \|$", lines, re.MULTILINE)
    assert {kind: " ".join(re.findall(r"`(\w+)`", members)) for kind, members in rows} == MEMBERS
