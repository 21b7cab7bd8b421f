"""All rules over one history."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from . import answers, dialects, feed, ingest, logs, starts, ticks, webhooks
from .failovers import Failovers
from .lines import Line
from .readers import Readers
from .violation import Violation

READERS = {"open", "event", "end", "leave"}


def check(lines: Callable[[], Iterable[Line]]) -> tuple[list[Violation], Counter[str]]:
    """What is wrong, and how many lines of each kind were judged.

    ``lines`` gives all lines each time it is called: what readers received is read once more at
    the end and never held, for a history can have more events than this machine has memory.
    """
    counts: Counter[str] = Counter()
    stored: defaultdict[str, logs.Log] = defaultdict(logs.Log)
    runs: dict[str, Line] = {}
    for line in lines():
        counts[line["kind"]] += 1
        if line["kind"] == "log":
            stored[line["run"]].add(line)
        elif line["kind"] == "run":
            runs[line["run"]] = line
    failovers = Failovers.of(lines())
    by_kind: defaultdict[str, list[Line]] = defaultdict(list)
    for line in failovers.owed(lines(), runs):
        if line["kind"] not in READERS | {"log"}:
            by_kind[line["kind"]].append(line)
    questions = {line["interrupt"]: line for line in by_kind["question"]}
    continuing = {id for id, log in stored.items() if log.resumes}

    def all_of_them() -> Iterator[Violation]:
        yield from logs.violations(runs, stored)
        yield from Readers(stored, failovers).violations(lines())
        yield from starts.violations(by_kind["start"], runs, continuing)
        yield from ingest.violations(by_kind["batch"], stored)
        yield from answers.violations(by_kind["answer"], questions, runs)
        # In the order of the file: a reader's cursors follow its beginning.
        watches = (line for line in lines() if line["kind"] in feed.LINES)
        yield from feed.violations(watches, runs, questions)
        yield from webhooks.violations(by_kind["webhook"], by_kind["delivery"], runs, questions)
        yield from ticks.violations(by_kind["schedule"], by_kind["tick"], runs)
        yield from dialects.violations(by_kind["text"], stored, runs)

    return list(all_of_them()), counts
