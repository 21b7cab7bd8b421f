"""Joining a live message of 100,000 deltas: how soon the first frame, and how long the loop stands.

    python -m benchmarks.prelude

Promise: the first frame within 300 ms, and the event loop never blocked for more than 50 ms,
also without a checkpoint for the latter. Measured in one process with the loop under a heartbeat.
"""

import asyncio
import gc
import json
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")

DELTAS = 100_000
ROUNDS = 5
FIRST_FRAME, BLOCKED = 0.3, 0.05
STARTS = [
    {"type": "RUN_STARTED", "threadId": "thread", "runId": "run", "protocolVersion": "1.0"},
    {"type": "TEXT_MESSAGE_START", "messageId": "message-0001", "role": "assistant"},
]


def deltas() -> list[dict[str, Any]]:
    kind, stamp = "TEXT_MESSAGE_CONTENT", 1_700_000_000_000
    return [
        {"type": kind, "messageId": "message-0001", "delta": f" wörd{at}", "timestamp": stamp}
        for at in range(DELTAS)
    ]


def live_journal() -> tuple[UUID, int]:
    """A journal in the middle of that message, without a checkpoint."""
    from agui_host.protocol.encoding import Record, encode
    from events import journal

    events = [*STARTS, *deltas()]
    records = [Record(event["type"], encode(event), time.time()) for event in events]
    row = journal.create()
    for first in range(0, len(records), 2000):
        batch = journal.Batch(row.pk, 0, first + 1, records[first : first + 2000])
        assert journal.append([batch])
    return row.pk, len(records)


async def heartbeat(gaps: list[float]) -> None:
    """How late the loop comes back from sleeps of one millisecond."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        gaps.append(time.perf_counter() - began - 0.001)


async def join(journal_id: UUID, head: int) -> tuple[float, float, int]:
    """Seconds to the prelude's frames, the longest block of the loop, bytes of the prelude."""
    from agui_host.backends.postgres.bridge import db
    from agui_host.protocol.fold.prelude import prelude_frames
    from events.checkpoints import fold_at

    gaps: list[float] = []
    beating = asyncio.create_task(heartbeat(gaps))
    await asyncio.sleep(0.02)
    gaps.clear()
    began = time.perf_counter()
    frames = await db(lambda: prelude_frames(fold_at(journal_id, head), head))
    took = time.perf_counter() - began
    await asyncio.sleep(0.02)
    beating.cancel()
    return took, max(gaps), len(frames or b"")


async def joins(journal_id: UUID, head: int, forget: bool) -> tuple[float, float, int]:
    """The worst of a few joins."""
    from agui_host.backends.postgres.bridge import db
    from events.models import Checkpoint

    measurements = []
    for _ in range(ROUNDS):
        if forget:
            await db(lambda: Checkpoint.objects.all().delete())
        measurements.append(await join(journal_id, head))
    return (
        max(one[0] for one in measurements),
        max(one[1] for one in measurements),
        measurements[0][2],
    )


def fold_costs() -> list[str]:
    """What folding costs per delta, from dicts and from stored text."""
    from agui_host.protocol.fold.fold import Fold
    from agui_host.protocol.fold.prelude import prelude_frames

    events = deltas()
    payloads = [json.dumps(event, separators=(",", ":")) for event in events]
    lines = []

    def fold(events_fed: list[dict[str, Any]]) -> Fold:
        whole = Fold()
        for event in [*STARTS, *events_fed]:
            whole.feed(event)
        return whole

    def best(what: str, step: Callable[[], object], count: int = 1, unit: str = "ms") -> None:
        times = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            step()
            times.append(time.perf_counter() - began)
        scale = 1e6 if unit == "µs" else 1e3
        lines.append(f"{what:44} {min(times) * scale / count:8.2f} {unit}")

    best("fold, per delta", lambda: fold(events), DELTAS, "µs")
    best(
        "parse and fold, per delta",
        lambda: fold(json.loads(f"[{','.join(payloads)}]")),
        DELTAS,
        "µs",
    )
    whole = fold(events)
    text = whole.dump()
    best(f"dump ({len(text):,} characters)", whole.dump)
    best("load", lambda: Fold.load(text))
    best("prelude_frames", lambda: prelude_frames(whole, 1))
    return lines


async def measured() -> list[str]:
    from agui_host.backends.postgres.bridge import db
    from events.checkpoints import fold_at

    journal_id, head = await db(live_journal)
    # A full collection walks whatever else the process holds: here the 100,000 events above.
    gc.collect()
    gc.freeze()
    lines = []
    cases: list[tuple[str, bool, int]] = [("no checkpoint yet", True, head)]
    cases += [("checkpoint 5,000 events ago", False, head)]
    for what, forget, position in cases:
        if not forget:
            await db(fold_at, journal_id, head - 5000)
        took, blocked, size = await joins(journal_id, position, forget)
        lines.append(
            f"{what:30} first frame {took * 1e3:6.0f} ms, loop blocked {blocked * 1e3:5.1f} ms,"
            f" {size:,} bytes"
        )
        in_time = blocked <= BLOCKED and (forget or took <= FIRST_FRAME)
        lines[-1] += "   kept" if in_time else "   BROKEN"
    return lines


def run(main: Callable[[], Coroutine[Any, Any, list[str]]]) -> list[str]:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    keep("prelude", [*run(measured), *fold_costs()])
    connection.close_pool()


if __name__ == "__main__":
    main()
