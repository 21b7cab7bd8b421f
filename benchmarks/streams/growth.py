"""A long log costs what a short one does: appending to it, and reading a page of it.

One run with 1,000 events beside one with 1,000,000 (``GROWTH_EVENTS``), in turns, in one table:
a commit of ten deltas through the journal's fence and COPY, and a page of 100 after a cursor at the
log's beginning, middle and end. The promise: at most 1.5 times as much.
"""

import os
import statistics
import time
from functools import partial
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

FEW, MANY = 1_000, int(os.environ.get("GROWTH_EVENTS", "1000000"))
ROUNDS, DELTAS, PAGE = int(os.environ.get("GROWTH_ROUNDS", "300")), 10, 100
PROMISE = 1.5


def records(number: int) -> list[Any]:
    """So many deltas, as an agent's are stored."""
    from agui_host.protocol.encoding import Record, encode

    delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a word ", "timestamp": 1}
    return [Record("TEXT_MESSAGE_CONTENT", encode(delta), time.time())] * number


class Log:
    """A journal that grows; every append is a commit of its own."""

    def __init__(self, events: int) -> None:
        from events.models import Journal

        self.id = Journal.objects.create(writer=1).pk
        self.head = 0
        while self.head < events:
            self.append(min(1_000, events - self.head))

    def append(self, number: int) -> None:
        from django.db import transaction

        from events import journal
        from events.journal import Batch

        with transaction.atomic():
            journal.append([Batch(self.id, 1, self.head + 1, records(number))])
        self.head += number

    def page(self, share: float) -> None:
        from events import journal

        after = int((self.head - PAGE) * share)
        assert len(journal.read_after(self.id, after, PAGE).rows) == PAGE


def compare(what: str, few: Any, many: Any) -> tuple[str, dict[str, Any]]:
    """Call both in turns; the medians in ms and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, seconds in zip((few, many), times, strict=True):
            began = time.perf_counter()
            call()
            seconds.append((time.perf_counter() - began) * 1000)
    short, long = (statistics.median(seconds) for seconds in times)
    ratio = long / short
    verdict = "kept" if ratio <= PROMISE else "BROKEN"
    line = f"{what:<30}{short:>7.2f} ms{long:>9.2f} ms   ratio {ratio:.2f}   {verdict}"
    row = {"row": what, "few_ms": round(short, 3), "many_ms": round(long, 3)}
    return line, {**row, "ratio": round(ratio, 2), "must": PROMISE}


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    few, many = Log(FEW), Log(MANY)
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze events_event")
    results = [
        compare(
            f"append {DELTAS}, and commit", *(partial(log.append, DELTAS) for log in (few, many))
        ),
        *(
            compare(f"page of {PAGE} at the {name}", partial(few.page, at), partial(many.page, at))
            for name, at in (("beginning", 0.0), ("middle", 0.5), ("end", 1.0))
        ),
    ]
    head = f"{'':<30}{FEW:>7,} events{MANY:>11,} events   must ≤ {PROMISE}"
    keep("growth", [head, *(line for line, _ in results)], [row for _, row in results])
    connection.close()
    connection.close_pool()


if __name__ == "__main__":
    main()
