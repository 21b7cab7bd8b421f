"""Schedules: each tick whose time has passed started one run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .violation import Violation


def violations(
    schedules: Iterable[Line], ticks: Iterable[Line], runs: dict[str, Line]
) -> Iterator[Violation]:
    started: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in ticks:
        started[line["schedule"], line["at"]].add(line["run"])
        if line["run"] not in runs:
            yield Violation("tick", line["schedule"], f"started {line['run']}, which is not there")
    owed = {(line["schedule"], line["at"]) for line in schedules}
    for schedule, at in sorted(owed | started.keys()):
        count = len(started[schedule, at])
        if count != 1 or (schedule, at) not in owed:
            yield Violation("tick", schedule, f"the tick of {at} started {count} runs")
