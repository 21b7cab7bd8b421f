"""Producers: each batch that was acknowledged is in its log once, in the order of its number."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .logs import Log
from .violation import Violation

STORED = {200, 204}


def violations(batches: Iterable[Line], logs: dict[str, Log]) -> Iterator[Violation]:
    by_run: defaultdict[str, dict[tuple[int, int], Line]] = defaultdict(dict)
    for batch in batches:
        place = batch["epoch"], batch["number"]
        earlier = by_run[batch["run"]].get(place)
        # The answer to a repeated batch counts if one of them was acknowledged.
        if earlier is None or earlier["status"] not in STORED:
            by_run[batch["run"]][place] = batch
    for run, placed in by_run.items():
        yield from _of_run(run, placed, logs.get(run, Log()))


def _of_run(run: str, placed: dict[tuple[int, int], Line], log: Log) -> Iterator[Violation]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, delta in enumerate(log.deltas):
        places[delta].append(place)
    last = -1
    for (epoch, number), batch in sorted(placed.items()):
        subject = f"batch {epoch}.{number} of {batch['producer']} in {run}"
        for text in batch["texts"]:
            there = places.get(text, [])
            if len(there) > 1:
                yield Violation("doubled", subject, f"{text!r} is there {len(there)} times")
            if not there:
                if batch["status"] in STORED:
                    yield Violation("lost", subject, f"{text!r} was acknowledged")
            elif there[0] < last:
                yield Violation("reordered", subject, f"{text!r} is too early")
            else:
                last = there[0]
