"""The chores that follow runs: webhooks, storing words, purging by retention, erasing a team.

RUNS runs of as many threads, of seven events each, in each of two teams. Words are stored as a
worker's chore does it, one team is purged and swept as by retention, the other erased; meanwhile a
run appends up to 50 events a second. Before them, one webhook hears of the ends of CALLS runs, and
answers at once. Run it in an empty data directory.
"""

import asyncio
import os
import time
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agui_project.settings")
os.environ["AGUI_DATABASE_DEADLINE"] = "600"
os.environ["AGUI_LIMIT_RETENTION_DAYS"] = "365"
os.environ["AGUI_OUTBOUND_ALLOW"] = "127.0.0.1"

RUNS = int(os.environ.get("RUNS", "2000"))
CALLS = min(RUNS, 1_000)
EVENTS, SECONDS, PAUSE = 7, 20.0, 1 / 50
DELIVERIES = """
insert into runs_webhookdelivery (id, team_id, webhook_id, type, run, attempts)
select gen_random_uuid(), team_id, %(hook)s, 'run.succeeded', journal_id, '[]'
  from runs_run where team_id = %(team)s order by journal_id limit %(calls)s
"""
ANSWER = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n"
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


async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request at once."""
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(ANSWER)
    writer.close()


async def deliver(team: Any) -> str:
    """So many deliveries a second to one webhook, and their processor time in this process."""
    from django.db import connection

    from agui_host.backends.postgres.bridge import db
    from runs.lifecycle.webhooks import signing
    from runs.models import Webhook, WebhookDelivery
    from runs.worker.deliveries import Deliverer

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    def enqueue() -> None:
        hook = Webhook.objects.create(
            team=team, url=url, events=["run.succeeded"], secrets=signing.sealed(signing.new())
        )
        with connection.cursor() as cursor:
            cursor.execute(DELIVERIES, {"hook": hook.pk, "team": team.pk, "calls": CALLS})

    pending = WebhookDelivery.objects.of_any_team().filter(status="pending")
    await db(enqueue)
    began, processor = time.perf_counter(), time.process_time()
    delivering = asyncio.create_task(Deliverer().run())
    while await db(pending.exists):
        await asyncio.sleep(0.1)
    took, spent = time.perf_counter() - began, time.process_time() - processor
    delivering.cancel()
    with suppress(asyncio.CancelledError):
        await delivering
    server.close()
    each = spent / CALLS * 1_000
    return f"webhooks delivered {CALLS / took:,.1f} /s, {each:.2f} ms of processor each"


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

    lines = [await deliver(purged)]
    appends = Appends()
    task = asyncio.create_task(appends.run())
    await asyncio.sleep(3)
    appends.delays.clear()
    await asyncio.sleep(8)
    quiet = appends.p99()
    lines.append(f"append, nothing else: p99 {quiet:.2f} ms")
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
