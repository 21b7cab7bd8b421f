"""Durable append through the whole worker pipeline, against a bare binary COPY of the same rows.

Pipeline: scripted agent → python runtime → executor → intake → JournalWriter → commit, with the
bell ringing. Baseline: psycopg's binary ``COPY`` with ``write_row`` of rows of the same size into
the same partitioned table, 1,000 rows per commit. Both with fsync and synchronous_commit on, in
turns, in one run; the promise is a ratio of at least 0.15 at 1 and at 50 runs.
"""

import asyncio
import json
import os
import statistics
import time
import uuid
from contextlib import suppress

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_SCRIPTED_AGENT"] = "1"
os.environ["AGUI_LIMIT_EVENTS_PER_SECOND"] = "0"  # the pipeline's own speed, not its brakes

ROWS = 60_000
ROUNDS = 3
PROMISE = 0.15


def baseline() -> float:
    """Rows per second of ``COPY`` with ``write_row``, 1,000 rows per commit."""
    import psycopg
    from django.db import connection

    known = ("host", "port", "user", "password", "dbname")
    params = {k: v for k, v in connection.get_connection_params().items() if k in known}
    payload = json.dumps(
        {
            "type": "TEXT_MESSAGE_CONTENT",
            "messageId": str(uuid.uuid4()),
            "delta": f"{time.time():.6f} 12345",
            "timestamp": int(time.time() * 1000),
        },
        separators=(",", ":"),
    )
    import uuid6

    journal = uuid6.uuid7()
    statement = "copy events_event (journal_id, seq, type, payload) from stdin (format binary)"
    with psycopg.connect(**params) as link:
        began = time.perf_counter()
        for first in range(0, ROWS, 1000):
            with link.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types(["uuid", "int4", "text", "text"])
                for seq in range(first, first + 1000):
                    copy.write_row((journal, seq, "TEXT_MESSAGE_CONTENT", payload))
            link.commit()
        return ROWS / (time.perf_counter() - began)


async def pipeline(runs: int) -> float:
    """Events per second of ``runs`` runs together, from claim to the last stored terminal."""
    from agui_host.backends import work
    from agui_host.backends.postgres.bridge import db
    from events.writer import JournalWriter
    from runs.worker.executor import Stop, execute

    work.debt = lambda team: 0.0  # the other brake: a team's share of a process is below its speed
    claims = [await db(claim_one, ROWS // runs) for _ in range(runs)]
    writer = JournalWriter()
    writing = asyncio.create_task(writer.run())
    began = time.perf_counter()
    await asyncio.gather(*(execute(claim, writer, lambda: Stop.CANCEL) for claim in claims))
    seconds = time.perf_counter() - began
    writer.close()
    await writing
    return writer.rows / seconds


def claim_one(events: int) -> object:
    """A claimed run of the scripted agent that emits ``events`` deltas as fast as it can."""
    from agui_host.protocol.input import run_agent_input
    from agui_host.runtimes.demo import ensure_demo
    from agui_host.runtimes.models import Agent
    from agui_host.teams.models import Team
    from runs.lifecycle import lifecycle

    if not Team.objects.exists():
        ensure_demo()
    team = Team.objects.get(slug="demo")
    agent, _ = Agent.objects.get_or_create(team=team, slug="scripted", name="Scripted")
    script = [{"text": "", "n": events}]
    request = run_agent_input.parse({"forwardedProps": {"script": script}})
    run = lifecycle.start(team, agent, request, started_by="bench").run
    claimed = lifecycle.claim(run.pk)
    assert claimed
    return claimed


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(pipeline(1))  # warm up
        bare: list[float] = []
        through: dict[int, list[float]] = {1: [], 50: []}
        for _ in range(ROUNDS):
            bare.append(baseline())
            for runs, rates in through.items():
                rates.append(runner.run(pipeline(runs)))
    floor = statistics.median(bare)
    lines = [f"bare COPY, write_row       {floor:>10,.0f} rows/s"]
    for runs, rates in through.items():
        rate = statistics.median(rates)
        verdict = "kept" if rate / floor >= PROMISE else "BROKEN"
        lines.append(
            f"pipeline, {runs:>2} run{'s' if runs > 1 else ' '}         {rate:>10,.0f} events/s"
            f"   ratio {rate / floor:.2f}   promise {PROMISE}: {verdict}"
        )
    keep("append", lines)
    with suppress(Exception):
        from django.db import connection

        connection.close_pool()


if __name__ == "__main__":
    main()
