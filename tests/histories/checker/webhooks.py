"""Webhooks: exactly the messages that are owed, each under one id however often it came."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from .lines import Line
from .violation import Violation

ENDS = {"run.succeeded", "run.failed", "run.cancelled", "run.interrupted"}
BEFORE = {"run.started": ENDS, "interrupt.opened": {"interrupt.answered", "interrupt.expired"}}
"""By type: the types of the same run or question whose time is not earlier."""


def violations(
    webhooks: Iterable[Line],
    deliveries: list[Line],
    runs: dict[str, Line],
    questions: dict[str, Line],
) -> Iterator[Violation]:
    """All runs of a history began after its webhooks were made.

    A delivery that is ``excused`` came before history went back: it counts as received only.
    """
    received = {_about(line) for line in deliveries}
    judged = [line for line in deliveries if not line.get("excused")]
    yield from _ids(judged, runs)
    yield from _order(judged)
    yield from _final(judged, runs)
    for webhook in webhooks:
        id, events = webhook["webhook"], set(webhook["events"])
        owed = _owed(events, runs, questions)
        for type, about in sorted(owed):
            if (id, type, about) not in received:
                yield Violation("webhook", id, f"{type} of {about} did not come")
        for other, type, about in sorted({_about(line) for line in judged}):
            surely = type in ENDS or type not in events
            if other == id and surely and (type, about) not in owed:
                yield Violation("webhook", id, f"{type} of {about} was not owed")


def _about(line: Line) -> tuple[str, str, str]:
    """The webhook, the type, and the question or run of a delivery."""
    return line["webhook"], line["type"], line["interrupt"] or line["run"]


def _ids(deliveries: list[Line], runs: dict[str, Line]) -> Iterator[Violation]:
    ids: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    hashes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in deliveries:
        ids[_about(line)].add(line["id"])
        hashes[line["webhook"], line["id"]].add(line["hash"])
    for (webhook, type, about), each in ids.items():
        # A question opens again if the run that brought its answer failed.
        if len(each) > 1 and about in runs:
            yield Violation("webhook", webhook, f"{type} of {about} came under {len(each)} ids")
    for (webhook, id), bodies in hashes.items():
        if len(bodies) > 1:
            yield Violation("webhook", webhook, f"{id} came with {len(bodies)} bodies")


def _order(deliveries: list[Line]) -> Iterator[Violation]:
    """Messages may overtake each other; the times that they name are in order."""
    times: defaultdict[tuple[str, str], dict[str, datetime]] = defaultdict(dict)
    for line in deliveries:
        webhook, type, about = _about(line)
        at = datetime.fromisoformat(line["at"])
        of_this = times[webhook, about]
        of_this[type] = min(at, of_this.get(type, at))
    for (webhook, about), of_this in times.items():
        for type, followers in BEFORE.items():
            for follower in followers & of_this.keys():
                if type in of_this and of_this[follower] < of_this[type]:
                    yield Violation("webhook", webhook, f"{follower} of {about} before {type}")


def _final(deliveries: list[Line], runs: dict[str, Line]) -> Iterator[Violation]:
    """Whether another attempt follows the run, and which."""
    following = {run["repeats"]: id for id, run in runs.items() if run.get("repeats")}
    for line in deliveries:
        if line["type"] not in ENDS:
            continue
        other = following.get(line["run"])
        if line["final"] != (other is None):
            detail = f"final is {line['final']}, and {other} follows {line['run']}"
            yield Violation("final", line["webhook"], detail)
        elif line["repeated_by"] not in (None, other):
            detail = f"{line['repeated_by']} follows {line['run']} in place of {other}"
            yield Violation("final", line["webhook"], detail)


def _owed(
    events: set[str], runs: dict[str, Line], questions: dict[str, Line]
) -> set[tuple[str, str]]:
    owed = {(f"run.{run['status']}", id) for id, run in runs.items()}
    owed |= {("interrupt.opened", id) for id in questions}
    owed |= {
        ("interrupt.answered", id)
        for id, question in questions.items()
        if question["status"] in ("resolved", "cancelled", "answered")
    }
    return {(type, about) for type, about in owed if type in events}
