"""Appends while a million events are purged, and a month is dropped.

50 runs append 20 events a second each, into the partition that the purge deletes from; the purge
is a process of its own, as a worker's. The promise: p99 of an append at most doubles against the
quieter of the times before and behind it, in the same run; dropping a month of a million events
takes less than a second.
"""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from events.writer.lease import Lease

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

EVENTS, LOGS = 1_000_000, 100
RUNS, RATE, QUIET = 50, 20, 20.0
FILL = """
insert into events_event (journal_id, seq, type, payload)
select %s, seq, 'TEXT_MESSAGE_CONTENT',
       '{"type":"TEXT_MESSAGE_CONTENT","messageId":"0192f0c1","delta":"some words ' || seq || '"}'
  from generate_series(1, %s) seq
"""
SWEEP = """
import django; django.setup()
from runs.lifecycle.deletion import retention
print(retention.sweep(float("inf")))
from django.db import connection; connection.close_pool()
"""


def fill(keys: list[UUID], each: int) -> None:
    """Closed journals of so many events."""
    from django.db import connection
    from django.utils import timezone

    from events.models import Journal

    Journal.objects.bulk_create(
        Journal(pk=key, head=each, closed_at=timezone.now()) for key in keys
    )
    with connection.cursor() as cursor:
        for key in keys:
            cursor.execute(FILL, [key, each])


class Appending:
    """Runs that append one event at a time, evenly; how long each took to be committed."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        from agui_host.backends.postgres.bridge import db
        from events import journal
        from events.writer import JournalWriter

        writer = JournalWriter()
        writing = asyncio.create_task(writer.run())
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(RUNS):
                    claim = await db(lambda: journal.take_over(journal.create().pk))
                    assert claim
                    group.create_task(self._append(writer.open(claim), number / RUNS / RATE))
        finally:
            writer.close()
            await writing

    async def _append(self, lease: "Lease", late: float) -> None:
        from agui_host.protocol.encoding import Record

        payload = b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a word or two"}'
        await asyncio.sleep(late)
        while True:
            began = time.perf_counter()
            lease.append([Record("TEXT_MESSAGE_CONTENT", payload, time.time())])
            await lease.flush()
            took = time.perf_counter() - began
            self.delays.append(took * 1000)
            await asyncio.sleep(max(0.0, 1 / RATE - took))

    def taken(self) -> list[float]:
        """The delays since this was asked last."""
        delays, self.delays = self.delays, []
        return delays


async def measure(old: list[UUID]) -> list[str]:
    from agui_host.backends.postgres.bridge import db
    from benchmarks.report import percentile
    from events import partitions, purge

    appending = Appending()
    task = asyncio.create_task(appending.run())
    await asyncio.sleep(5)
    appending.taken()
    await asyncio.sleep(QUIET)
    before = appending.taken()
    await db(purge.doom, old)
    began = time.perf_counter()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SWEEP, stdout=subprocess.PIPE
    )
    out, _ = await child.communicate()
    seconds = time.perf_counter() - began
    during, swept = appending.taken(), int(out.split()[-1])
    await asyncio.sleep(QUIET)
    behind = appending.taken()
    (month,) = [month for month in await db(partitions.past) if month.name.endswith("2024_01")]
    began = time.perf_counter()
    dropped = await db(partitions.drop, month)
    drop_seconds = time.perf_counter() - began
    at_drop = max(appending.taken(), default=0.0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    # The quieter of the two: a mean would let one noisy quiet time flatter the figure.
    quiet = min(percentile(part, 0.99) for part in (before, behind))
    ratio = percentile(during, 0.99) / quiet
    lines = [
        f"{name:<22} p50 {percentile(part, 0.5):6.1f} ms   p99 {percentile(part, 0.99):6.1f} ms"
        f"   max {max(part):6.1f} ms   {len(part):,} appends"
        for name, part in (("before", before), ("while purging", during), ("behind", behind))
    ]
    lines.append(f"purged {swept:,} events in {seconds:.0f} s ({swept / seconds:,.0f}/s)")
    lines.append(f"p99 ratio {ratio:.2f}   promise 2: {'kept' if ratio <= 2 else 'BROKEN'}")
    in_time = dropped and drop_seconds < 1
    lines.append(
        f"dropping a month of {EVENTS:,} events {drop_seconds:.3f} s, slowest append meanwhile"
        f" {at_drop:.0f} ms   promise 1 s: {'kept' if in_time else 'BROKEN'}"
    )
    return lines


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from datetime import date

    import uuid6
    import uvloop
    from django.core.management import call_command
    from django.db import connection

    from events import partitions

    call_command("migrate", verbosity=0)
    old = [uuid6.uuid7() for _ in range(LOGS)]
    fill(old, EVENTS // LOGS)
    january = date(2024, 1, 1)
    partitions.ensure_ahead(january, months=0)
    low = partitions.first_id(january).int
    fill([UUID(int=low + number) for number in range(LOGS)], EVENTS // LOGS)
    with connection.cursor() as cursor:
        cursor.execute("checkpoint")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        keep("purge", runner.run(measure(old)))
    with suppress(Exception):
        connection.close_pool()


if __name__ == "__main__":
    main()
