"""Webhooks: exactly the messages that are owed, each under one id however often it came."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from .lines import Line
from .violation import Violation

ENDS = {"run.succeeded", "run.failed", "run.cancelled", "run.interrupted"}


def violations(
    webhooks: Iterable[Line],
    deliveries: Iterable[Line],
    runs: dict[str, Line],
    questions: dict[str, Line],
) -> Iterator[Violation]:
    """All runs of a history began after its webhooks were made."""
    received: defaultdict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(
        lambda: defaultdict(set)
    )
    for line in deliveries:
        about = line["interrupt"] or line["run"]
        received[line["webhook"], line["type"], about][line["id"]].add(line["hash"])
    for (webhook, type, about), ids in received.items():
        # A question opens again if the run that brought its answer failed.
        if len(ids) > 1 and about in runs:
            yield Violation("webhook", webhook, f"{type} of {about} came under {len(ids)} ids")
        for id, hashes in ids.items():
            if len(hashes) > 1:
                yield Violation("webhook", webhook, f"{id} came with two bodies")
    for line in webhooks:
        owed = _owed(set(line["events"]), runs, questions)
        for type, about in sorted(owed):
            if (line["webhook"], type, about) not in received:
                yield Violation("webhook", line["webhook"], f"{type} of {about} did not come")
        for webhook, type, about in received:
            surely = type in ENDS or type not in line["events"]
            if webhook == line["webhook"] and surely and (type, about) not in owed:
                yield Violation("webhook", webhook, f"{type} of {about} was not owed")


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
