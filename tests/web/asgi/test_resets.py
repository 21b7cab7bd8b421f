"""Readers of a log that went back are told so, on each transport; the others continue."""

import asyncio
import re
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.encoding import Record, encode
from agui_host.web.consumers.export.conversation import messages
from agui_host.web.consumers.export.log import payloads
from agui_host.web.host_socket import feed as host_feed
from events import announce, journal
from events.hub import hub
from events.journal import Batch
from events.models import Event, Journal
from events.writer import JournalWriter
from runs.lifecycle import feed
from runs.models import FeedEntry, Run
from tests.asgi import Exchange, ask
from tests.cast import Cast, LiveRun, start
from tests.events.first_epoch import first_epoch
from tests.web.calling import calling
from tests.web.resets.rewinding import remove

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["first_epoch"]

SSE = {"accept": "text/event-stream"}


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say("a", "b", "c")
    return run


@pytest.fixture(autouse=True)
def _first_again(first_epoch: None, settings: Settings) -> None:
    settings.AGUI_HUB_TICK = 3600  # each test says when


def go_back(live: LiveRun, head: int) -> int:
    """What a restored backup does: events are gone, and the epoch is another; returns that."""
    with transaction.atomic():
        Event.objects.filter(journal=live.run.pk, seq__gt=head).delete()
        assert Journal.objects.filter(pk=live.run.pk).update(head=head) == 1
        return epochs.begin()


def go_on(live: LiveRun, *words: str, rings: bool = False) -> Batch:
    """Another history: so many other events, written in the newest epoch."""
    with connection.cursor() as cursor:
        cursor.execute("select agui_epoch()")  # this thread's session, as any new one
    claim = journal.take_over(live.run.pk)
    assert claim is not None
    events = [{"type": "CUSTOM", "name": "said", "value": word} for word in words]
    records = [Record("CUSTOM", encode(event), 0.0) for event in events]
    batch = Batch(claim.journal_id, claim.generation, claim.head + 1, records, claim.epoch)
    assert journal.append([batch])
    assert batch.epoch == epochs.latest
    if rings:
        announce.now([batch])
    return batch


def overtake(live: LiveRun, *words: str, rings: bool = False) -> int:
    """Events 3 and 4 are lost, and the log has others after event 2, all at once.

    Rings for the last of them only.
    """
    *most, last = words or ("x", "y", "z")
    with transaction.atomic():
        epoch = go_back(live, 2)
        go_on(live, *most)
        batch = go_on(live, last)
    if rings:
        announce.now([batch])
    return epoch


async def first_tick() -> None:
    """The hub's own tick is over, and will not see half of what a test does."""
    while not hub()._seen:
        await asyncio.sleep(0)


async def test_a_stream_is_reset(cast: Cast, live: LiveRun) -> None:
    async with Exchange("GET", f"{live.url}?after=3", {**cast.vera.headers, **SSE}) as exchange:
        await exchange.until(b"id: 4")
        epoch = await db(go_back, live, 2)
        await hub().check_once()
        body = await exchange.rest()
    assert b'event: reset\ndata: {"reset":true,"epoch":%d,"head":2}\n\n' % epoch in body


async def test_a_stream_that_was_overtaken_is_reset(cast: Cast, live: LiveRun) -> None:
    headers = {**cast.vera.headers, **SSE}
    async with (
        Exchange("GET", f"{live.url}?after=3", headers) as one,
        Exchange("GET", f"{live.url}?after=2", headers) as other,
    ):
        await one.until(b"id: 4")
        await other.until(b"id: 4")
        await first_tick()
        epoch = await db(overtake, live, "x", "y")
        await hub().check_once()  # they have as many events as the log
        for body in (await one.rest(), await other.rest()):
            assert b'event: reset\ndata: {"reset":true,"epoch":%d,"head":4}\n\n' % epoch in body


async def test_the_bell_tells_a_stream_that_was_overtaken(cast: Cast, live: LiveRun) -> None:
    async with Exchange("GET", f"{live.url}?after=3", {**cast.vera.headers, **SSE}) as exchange:
        await exchange.until(b"id: 4")
        await first_tick()
        epoch = await db(overtake, live, "x", "y", "z", rings=True)
        body = await exchange.rest()
    assert b'event: reset\ndata: {"reset":true,"epoch":%d,"head":5}\n\n' % epoch in body
    assert b"id: " not in body


async def test_a_reader_that_lost_nothing_continues(cast: Cast, live: LiveRun) -> None:
    async with Exchange("GET", f"{live.url}?after=3", {**cast.vera.headers, **SSE}) as exchange:
        await exchange.until(b"id: 4")
        epoch = await db(go_back, live, 4)
        await db(lambda: go_on(live, "x", "y", rings=True))
        body = await exchange.until(b"id: %d-6" % epoch)
        assert b"id: %d-5\ndata: " % epoch in body
        assert b"reset" not in body


async def test_sockets_are_reset(cast: Cast, live: LiveRun) -> None:
    run = str(live.run.pk)
    async with (
        calling(cast.vera.headers) as peer,
        calling(cast.vera.headers) as other,
        calling(cast.vera.headers, url=f"/ws/runs/{run}/?after=4") as one,
    ):
        of_run = await peer.call("run.subscribe", run=run, after=4)
        place = {"run": run, "seq": 4}
        of_thread = await other.call("thread.subscribe", thread_id="t", after=place)
        await db(go_back, live, 2)
        await hub().check_once()
        assert await peer.until_end(of_run["subscription"]) == ([], "reset")
        assert await other.until_end(of_thread["subscription"]) == ([], "reset")
        assert await one.closed() == 4411


def lose_all(live: LiveRun) -> int:
    """The backup is older than the run."""
    with transaction.atomic():
        remove(live)
        return epochs.begin()


@pytest.mark.parametrize("first", ["the hub", "the check of rights"])
async def test_readers_of_a_run_that_was_lost_are_reset(
    cast: Cast, live: LiveRun, first: str
) -> None:
    run, headers = str(live.run.pk), cast.alice.headers
    place = {"run": run, "seq": 4}
    async with (
        Exchange("GET", f"{live.url}?after=3", {**headers, **SSE}) as exchange,
        calling(headers) as peer,
        calling(headers) as other,
        calling(headers, url=f"/ws/runs/{run}/?after=3") as one,
    ):
        await exchange.until(b"id: 4")
        of_run = await peer.call("run.subscribe", run=run, after=4)
        of_thread = await other.call("thread.subscribe", thread_id="t", after=place)
        epoch = await db(lose_all, live)
        if first == "the hub":
            await hub().check_once()
        reset = b'event: reset\ndata: {"reset":true,"epoch":%d,"head":0}\n\n' % epoch
        assert reset in await exchange.rest()
        assert await peer.until_end(of_run["subscription"]) == ([], "reset")
        assert await other.until_end(of_thread["subscription"]) == ([], "reset")
        assert await one.closed() == 4411
    assert (await ask("GET", f"{live.url}?after=4", headers)).status == 404
    await db(start, cast.alice, threadId="t", runId="another")
    async with calling(headers) as peer:
        assert await peer.refused("thread.subscribe", thread_id="t", after=place) == "reset"
        place = {"run": run, "seq": f"{epoch}-4"}
        assert await peer.refused("thread.subscribe", thread_id="t", after=place) == "not_found"
    url = f"/agui/threads/t/events?cursor={run}:4"
    assert (await ask("GET", url, headers)).code == "reset"


async def test_cursors_that_come_back(cast: Cast, live: LiveRun) -> None:
    headers = cast.vera.headers
    assert (await ask("GET", f"{live.url}?after=5", headers)).code == "bad_cursor"
    epoch = await db(go_back, live, 2)
    for accept in ({}, SSE):
        answer = await ask("GET", f"{live.url}?after=4", {**headers, **accept})
        assert (answer.status, answer.code) == (410, "reset")
        assert answer.json["error"]["details"] == {"epoch": epoch, "head": 2}
        assert (await ask("GET", f"{live.url}?after=2", headers)).status == 200


async def test_cursors_that_were_overtaken(cast: Cast, live: LiveRun) -> None:
    epoch, headers, run = await db(overtake, live), cast.vera.headers, str(live.run.pk)
    refused = [4, f"{epoch}-2", f"{epoch - 1}-4", "1-3", f"{epoch - 1}-9"]
    for cursor in refused:
        for more in ({}, SSE, {**SSE, "last-event-id": str(cursor)}):
            answer = await ask("GET", f"{live.url}?after={cursor}", {**headers, **more})
            assert (answer.status, answer.code) == (410, "reset"), cursor
            assert answer.json["error"]["details"] == {"epoch": epoch, "head": 5}
        async with calling(headers, url=f"/ws/runs/{run}/?after={cursor}") as one:
            assert await one.closed() == 4411
        async with calling(headers) as peer:
            assert await peer.refused("run.subscribe", run=run, after=cursor) == "reset"
            place = {"run": run, "seq": cursor}
            assert await peer.refused("thread.subscribe", thread_id="t", after=place) == "reset"
    for cursor in (f"{epoch}-6", "-4", "1-", "a-4"):
        assert (await ask("GET", f"{live.url}?after={cursor}", headers)).code == "bad_cursor"


async def test_cursors_that_lost_nothing(cast: Cast, live: LiveRun) -> None:
    epoch, headers, run = await db(overtake, live), cast.vera.headers, str(live.run.pk)
    for cursor in (0, 2, "1-2", f"{epoch}-4", "*-4"):
        page = (await ask("GET", f"{live.url}?after={cursor}", headers)).json
        assert (page["after"], page["head"]) == (f"{epoch}-5", f"{epoch}-5")
        async with Exchange("GET", live.url, {**headers, **SSE, "last-event-id": f"{cursor}"}) as x:
            body = await x.until(b"id: %d-5" % epoch)
        ids = ["1", "2", f"{epoch}-3", f"{epoch}-4", f"{epoch}-5"]
        assert re.findall("id: (.*)", body.decode()) == ids[page["events"][0]["seq"] - 1 :]
        async with calling(headers) as peer:
            opened = await peer.call("run.subscribe", run=run, after=cursor)
            frame = await peer.params("event")
            assert frame["subscription"] == opened["subscription"]
            assert str(frame.get("cursor", frame["seq"])) == ids[page["events"][0]["seq"] - 1]
    part = (await ask("GET", f"{live.url}?limit=2", headers)).json
    assert (part["after"], part["head"]) == (2, f"{epoch}-5")


async def test_a_run_of_a_later_epoch_has_plain_cursors_too(
    cast: Cast, writer: JournalWriter, live: LiveRun
) -> None:
    epoch = await db(go_back, live, 4)
    run = await db(start, cast.alice, threadId="u", runId="r")
    assert (await db(Journal.objects.get, pk=run.pk)).epoch == epoch
    late = await LiveRun.begin(run, writer)
    for cursor in (1, f"{epoch}-1"):
        page = (await ask("GET", f"{late.url}?after={cursor}", cast.vera.headers)).json
        assert (page["after"], page["head"]) == (1, 1)
    assert (await ask("GET", f"{late.url}?after=1-1", cast.vera.headers)).code == "reset"


async def test_durable_streams_are_reset(cast: Cast, live: LiveRun) -> None:
    url, headers = f"/api/v1/runs/{live.run.pk}/stream", cast.vera.headers
    before = (await ask("GET", url, headers)).headers["stream-next-offset"]
    assert before == f"{4:016d}"
    async with Exchange("GET", f"{url}?offset={before}&live=sse", headers) as exchange:
        await exchange.until(b"streamNextOffset")
        epoch = await db(overtake, live)
        await hub().check_once()
        await hub().check_once()
        assert b"event: reset" in await exchange.rest()
    for live_ in ("", "&live=long-poll", "&live=sse"):
        answer = await ask("GET", f"{url}?offset={before}{live_}", headers)
        assert (answer.status, answer.code) == (410, "reset")
        assert answer.json["error"]["details"] == {"epoch": epoch, "head": 5}
    after = (await ask("GET", f"{url}?offset={2:016d}", headers)).headers["stream-next-offset"]
    assert after == f"{epoch:016d}-{5:016d}" > before
    assert (await ask("GET", f"{url}?offset={after}", headers)).json == []


async def test_the_feed_is_reset(cast: Cast, live: LiveRun, settings: Settings) -> None:
    settings.AGUI_HUB_TICK = 0.05
    async with calling(cast.vera.headers) as peer:
        opened = await peer.call("team.subscribe")
        await db(go_back, live, 2)
        await db(lose_newest)
        assert await peer.until_end(opened["subscription"]) == ([], "reset")
        assert await peer.refused("team.subscribe", after=opened["cursor"]) == "reset"


async def test_a_feed_that_was_overtaken_is_reset(cast: Cast, live: LiveRun) -> None:
    async with calling(cast.vera.headers) as peer:
        opened = await peer.call("team.subscribe")
        position = opened["cursor"]
        epoch = await db(overtake_feed, cast, live, position)
        feeds = host_feed._feeds_of(asyncio.get_running_loop())
        feeds._wake(await db(host_feed._newest, [cast.team.pk]))  # its tick
        assert await peer.until_end(opened["subscription"]) == ([], "reset")
        for cursor in (position, f"1-{position}", f"{epoch - 1}-{position}"):
            assert await peer.refused("team.subscribe", after=cursor) == "reset"
        assert await peer.refused("team.subscribe", after=f"{epoch}-{position + 1}") == "bad_cursor"
        again = await peer.call("team.subscribe")
        assert again["cursor"] == f"{epoch}-{position}"
        before = (await db(newest, 2))[1].position
        for cursor in (before, f"1-{before}", 0):
            await peer.call("team.subscribe", after=cursor)
            entry = await peer.params("feed")
            while entry["thread_id"] != "u":
                entry = await peer.params("feed")
            assert entry["cursor"] == again["cursor"]
        acked = {"subscription": entry["subscription"], "cursor": entry["cursor"]}
        await peer.notify("ack", **acked)
        assert await peer.call("ping") == {}
        assert peer.notes == []


def newest(number: int) -> list[FeedEntry]:
    rows = FeedEntry.objects.of_any_team().exclude(position=None)
    return list(rows.order_by("-position")[:number])


def lose_newest() -> None:
    newest(1)[0].delete()


def overtake_feed(cast: Cast, live: LiveRun, position: int) -> int:
    """Another run's entry gets the position of the newest one, which is lost; all at once."""
    with transaction.atomic():
        epoch = go_back(live, 2)
        epochs.latest = epochs.FIRST  # Readers must not look before it is committed.
        lose_newest()
        start(cast.alice, threadId="u", runId="r")
        with connection.cursor() as cursor:
            cursor.execute("select setval('runs_feed_position', %s, false)", [position])
        feed.number(cast.team.pk)
        entry = newest(1)[0]
        assert (int(entry.cursor), entry.epoch) == (position, epoch)
    epochs.latest = epoch
    return epoch


async def test_a_place_beyond_the_head_of_the_only_history(cast: Cast, live: LiveRun) -> None:
    answer = await ask("GET", f"{live.url}?after=*-99", cast.vera.headers)
    assert (answer.status, answer.code) == (400, "bad_cursor")


async def test_pages_of_a_thread_are_reset(cast: Cast, live: LiveRun) -> None:
    url, headers = "/agui/threads/t/events?limit=2&cursor=", cast.alice.headers
    epoch, run = await db(overtake, live), live.run.pk
    assert (await ask("GET", f"{url}{run}:4", headers)).code == "reset"
    page = (await ask("GET", f"{url}{run}:2", headers)).json
    assert page["nextCursor"] == f"{run}:{epoch}-4"
    assert (await ask("GET", f"{url}{page['nextCursor']}", headers)).json["nextCursor"] is None


@pytest.mark.parametrize("lose", [go_back, overtake])
async def test_a_file_that_is_being_made_ends(
    live: LiveRun, monkeypatch: pytest.MonkeyPatch, lose: Callable[..., int]
) -> None:
    """With an error: it neither waits for what was lost, nor has two histories."""
    monkeypatch.setattr(journal, "STRETCH_EVENTS", 3)
    run = await db(Run.objects.select_related("journal").get, pk=live.run.pk)
    pages = payloads(run.pk, 0, run.journal.head, None)
    assert len(await anext(pages)) == 3
    await (db(lose, live, 3) if lose is go_back else db(lose, live))
    with pytest.raises(Reset):
        await anext(pages)


async def test_messages_of_a_log_that_went_back(live: LiveRun) -> None:
    run = await db(Run.objects.select_related("journal").get, pk=live.run.pk)
    await db(go_back, live, 2)
    with pytest.raises(Reset):
        _ = [piece async for piece in messages(run, None)]
