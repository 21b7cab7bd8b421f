"""The chores that follow runs: storing words, purging by retention, erasing a team.

RUNS runs of as many threads, of seven events each, in each of two teams. Words are stored as a
worker's chore does it, one team is purged and swept as by retention, the other erased; meanwhile a
run appends up to 50 events a second. Run it in an empty data directory.
"""

import asyncio
import os
import time
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "600"
os.environ["AGUI_LIMIT_RETENTION_DAYS"] = "365"

RUNS = int(os.environ.get("RUNS", "2000"))
EVENTS, SECONDS, PAUSE = 7, 20.0, 1 / 50
THREADS = """
insert into runs_thread (id, team_id, thread_id, created_by, visibility, title, tags)
select (%(prefix)s || '-7000-8000-' || lpad(n::text, 12, '0'))::uuid, %(team)s, 'thread-' || n, '',
       'team', 'Order ' || n, '{}'
  from generate_series(1, %(runs)s) n
"""
FILL = """
with made as (
    select n, (%(first)s || lpad(to_hex(n), 12, '0'))::uuid as id,
           (%(prefix)s || '-7000-8000-' || lpad(n::text, 12, '0'))::uuid as thread,
           now() - interval '400 days' as at
      from generate_series(1, %(runs)s) n
), journals as (
    insert into events_journal (id, head, writer, bytes, closed_at)
    select id, %(events)s, 1, 700, at from made
), events as (
    insert into events_event (journal_id, seq, type, payload)
    select id, seq, 'TEXT_MESSAGE_CONTENT',
           '{"type":"TEXT_MESSAGE_CONTENT","messageId":"0192f0c1","delta":"some words '
           || seq || ' of ' || n || '"}'
      from made cross join generate_series(1, %(events)s) seq
)
insert into runs_run (
    journal_id, team_id, thread_id, agent_id, run_id, attempt, tries, status, input,
    request_digest, started_by, starter, created_at, started_at, ended_at, error_code,
    error_message, asked, answered)
select id, %(team)s, thread, %(agent)s, 'run-' || n, 1, 1, 'succeeded',
       '{"messages":[{"id":"m","role":"user","content":"where is my order ' || n || '?"}]}',
       'x', 'user:one', '', at, at, at, '', '', 'where', 'some words'
  from made
"""


def fill(slug: str, number: int) -> Any:
    """A team with old runs; its months are there already, as ids are of this month."""
    from datetime import UTC, datetime, timedelta

    from django.db import connection

    from agui_host.runtimes import create_team
    from agui_host.runtimes.models import Agent
    from events import partitions

    then = (datetime.now(UTC) - timedelta(days=400)).date()
    partitions.ensure_ahead(then.replace(day=1), months=0)
    ms = int((datetime.now(UTC) - timedelta(days=400)).timestamp() * 1000)
    stamp = f"{ms:012x}"
    team = create_team.create_team(slug, slug.title())
    agent = Agent.objects.create(team=team, slug="echoes", name="Echoes")
    values = {
        "runs": RUNS, "team": team.pk, "agent": agent.pk, "events": EVENTS,
        "first": f"{stamp[:8]}-{stamp[8:]}-7{number:03x}-8000-", "prefix": f"0000000{number}-0000",
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(THREADS, values)
        cursor.execute(FILL, values)
    return team


class Appends:
    """A run that appends an event every so often, in a thread; how long each commit took."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def run(self) -> None:
        """Until cancelled."""
        from agui_host.backends.postgres.bridge import db
        from agui_host.protocol.encoding import Record
        from events import journal
        from events.writer import JournalWriter

        writer = JournalWriter()
        writing = asyncio.create_task(writer.run())
        payload = b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a word or two"}'
        try:
            claim = await db(lambda: journal.take_over(journal.create().pk))
            assert claim
            lease = writer.open(claim)
            while True:
                began = time.perf_counter()
                lease.append([Record("TEXT_MESSAGE_CONTENT", payload, time.time())])
                await lease.flush()
                self.delays.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(PAUSE)
        finally:
            writer.close()
            await writing

    def p99(self) -> float:
        """That of the delays since this was asked last."""
        from benchmarks.report import percentile

        delays, self.delays = self.delays, []
        return percentile(delays, 0.99)


def words() -> str:
    """So many runs a second get their words."""
    from runs.lifecycle.words import storing

    began = time.perf_counter()
    count = storing.run_once(SECONDS)
    return f"words stored {count / (time.perf_counter() - began):,.1f} runs/s ({count:,} runs)"


def purge(team: Any) -> str:
    """So many runs a second are purged, and their events deleted."""
    from events.models import Doomed
    from runs.lifecycle.deletion import retention
    from runs.models import Run

    began = time.perf_counter()
    retention.run_once(2 * SECONDS)
    took = time.perf_counter() - began
    purged = Run.objects.filter(team=team).exclude(purged_at=None).count()
    done = purged - Doomed.objects.count()
    return f"purged and swept {done / took:,.1f} runs/s ({purged:,} of {RUNS:,} purged)"


def erase(team: Any) -> str:
    """So many runs a second are erased with their team."""
    from runs.lifecycle.deletion import erasure

    began = time.perf_counter()
    erasure.erase_team(team)
    return f"erased with the team {RUNS / (time.perf_counter() - began):,.1f} runs/s"


async def measure(purged: Any, erased: Any) -> list[str]:
    """One line for each chore, and one for the appends beside it."""
    from agui_host.backends.postgres.bridge import db

    appends = Appends()
    task = asyncio.create_task(appends.run())
    await asyncio.sleep(3)
    appends.delays.clear()
    await asyncio.sleep(8)
    quiet = appends.p99()
    lines = [f"append, nothing else: p99 {quiet:.2f} ms"]
    for name, chore, values in (
        ("words", words, ()), ("retention", purge, (purged,)), ("erasure", erase, (erased,)),
    ):  # fmt: skip
        lines.append(await db(chore, *values))
        late = appends.p99()
        lines.append(f"append during {name}: p99 {late:.2f} ms, ratio {late / quiet:.2f}")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return lines


def main() -> None:
    import django

    from agui_host.embedded import embedded
    from benchmarks.report import keep

    embedded.ensure()
    django.setup()
    import uvloop
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    teams = [fill("purged", 1), fill("erased", 2)]
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze runs_run, events_journal, runs_thread, events_event")
        cursor.execute("checkpoint")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        keep("followers", runner.run(measure(*teams)))
    with suppress(Exception):
        connection.close_pool()


if __name__ == "__main__":
    main()
