"""The logs as they are stored at the end: without gaps, each with one end that fits its run."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .lines import Line, hash_of
from .violation import Violation

ENDED = {"succeeded", "failed", "cancelled", "interrupted"}
TERMINAL = {"RUN_FINISHED", "RUN_ERROR"}
OUTCOMES = {"cancelled": "cancelled", "interrupt": "interrupted"}
"""By the type of RUN_FINISHED's outcome: the status. Without one of these the run succeeded."""


@dataclass
class Log:
    """What the checker needs of a stored log."""

    seqs: list[int] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    deltas: list[str] = field(default_factory=list)
    ends: list[tuple[int, str]] = field(default_factory=list)
    """Each terminal event: its place from 1, and the status that it stands for."""
    resumes: bool = False
    """The run continues another one of its thread with answers."""

    @property
    def text(self) -> str:
        return "".join(self.deltas)

    def add(self, line: Line) -> None:
        event = json.loads(line["payload"])
        self.seqs.append(line["seq"])
        self.hashes.append(hash_of(line["payload"]))
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            self.deltas.append(event["delta"])
        if event["type"] == "RUN_STARTED":
            self.resumes = bool((event.get("input") or {}).get("resume"))
        if event["type"] in TERMINAL:
            self.ends.append((len(self.seqs), status_of(event)))


def status_of(event: Line) -> str:
    """The status that a terminal event stands for."""
    if event["type"] == "RUN_ERROR":
        return "failed"
    outcome = event.get("outcome") or {}
    return OUTCOMES.get(outcome.get("type", ""), "succeeded")


def logs_of(lines: Iterable[Line]) -> dict[str, Log]:
    logs: defaultdict[str, Log] = defaultdict(Log)
    for line in lines:
        if line["kind"] == "log":
            logs[line["run"]].add(line)
    return dict(logs)


def violations(runs: dict[str, Line], logs: dict[str, Log]) -> Iterator[Violation]:
    for id, run in runs.items():
        log = logs.get(id, Log())
        yield from _gaps(id, run, log)
        if run["status"] not in ENDED:
            yield Violation("terminal", id, f"the history ends, and the run is {run['status']}")
        elif [status for _, status in log.ends] != [run["status"]]:
            ends = ", ".join(status for _, status in log.ends) or "nothing"
            yield Violation("terminal", id, f"is {run['status']}, its log ends with {ends}")
        elif log.ends[0][0] != len(log.seqs):
            yield Violation("terminal", id, f"{len(log.seqs) - log.ends[0][0]} events follow it")
    for id in logs.keys() - runs.keys():
        yield Violation("start", id, "has a log, and no run")


def _gaps(id: str, run: Line, log: Log) -> Iterator[Violation]:
    counts: dict[int, int] = defaultdict(int)
    for seq in log.seqs:
        counts[seq] += 1
    for seq, count in counts.items():
        if count > 1:
            yield Violation("doubled", id, f"the log has {seq} {count} times")
    head = max(run["head"], *log.seqs, 0)
    if lost := [seq for seq in range(1, head + 1) if seq not in counts]:
        yield Violation("lost", id, f"the log lacks {len(lost)} events, the first is {lost[0]}")
    if log.seqs != sorted(log.seqs):
        yield Violation("reordered", id, "the log is not in order")
