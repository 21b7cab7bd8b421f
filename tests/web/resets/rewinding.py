"""Takes events back that a reader has, as a restored backup does."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from django.db import transaction

from agui_host.backends import epochs
from agui_host.backends.postgres.bridge import db
from events.hub import hub
from events.models import Epoch, Event, Journal
from events.writer import JournalWriter
from runs.models import FeedEntry, Run
from tests.asgi import DEADLINE, Exchange
from tests.cast import LiveRun
from tests.web.resets.readers import Reader
from tests.web.resets.shapes import HEAD, NUMBER

ALL = 4


async def begin(run: Run, writer: JournalWriter) -> LiveRun:
    live = await LiveRun.begin(run, writer)
    await live.say("a", "b", "c")
    return live


def go_back(live: LiveRun, head: int) -> None:
    """What a restored backup does: events are gone, and the epoch is another."""
    Event.objects.filter(journal=live.run.pk, seq__gt=head).delete()
    assert Journal.objects.filter(pk=live.run.pk).update(head=head) == 1
    Epoch.objects.create(number=NUMBER, timeline=None, began_at="2026-01-01T00:00Z")
    epochs.latest = NUMBER


def lose(live: LiveRun) -> None:
    """What a failover does to a run that only the old primary had."""
    epochs.latest = NUMBER  # A new connection asks before anything is read by it.
    with transaction.atomic():
        remove(live)
        Epoch.objects.create(number=NUMBER, timeline=None, began_at="2026-01-01T00:00Z")


def remove(live: LiveRun) -> None:
    """All rows of a run, as if it had never been."""
    Event.objects.filter(journal=live.run.pk).delete()
    FeedEntry.objects.of_any_team().filter(run=live.run.pk).delete()
    Run.objects.filter(pk=live.run.pk).delete()
    Journal.objects.filter(pk=live.run.pk).delete()


async def rewind(live: LiveRun, readers: int = 1) -> None:
    """Take the last two events back, once that many readers have all of them."""
    async with asyncio.timeout(DEADLINE):
        while [each.position for each in hub().readers.get(live.run.pk, ())] != [ALL] * readers:
            await asyncio.sleep(0)
    epochs.latest = NUMBER  # A new connection asks before anything is read by it.
    await db(go_back, live, HEAD)
    await hub().check_once()


async def started(writer: JournalWriter) -> LiveRun:
    """The run that a request has just started, now with four events."""
    async with asyncio.timeout(DEADLINE):
        while not (run := await db(Run.objects.select_related("thread").first)):
            pass
    return await begin(run, writer)


def filled(reader: Reader, run: Run | None) -> tuple[str, Any]:
    ids = {} if run is None else {"run": str(run.pk), "hex": run.pk.hex}
    body = json.dumps(reader.body)
    for name, text in ids.items():
        body = body.replace(f"{{{name}}}", text)
    return reader.url.format(**ids), json.loads(body)


@asynccontextmanager
async def reading(
    reader: Reader, headers: dict[str, str], run: Run | None
) -> AsyncIterator["asyncio.Task[tuple[int, bytes]]"]:
    url, body = filled(reader, run)

    async def read() -> tuple[int, bytes]:
        async with Exchange(reader.method, url, headers, json=body) as exchange:
            return exchange.status, await exchange.rest()

    task = asyncio.create_task(read())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
