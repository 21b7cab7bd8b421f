"""Readers of a log that went back are told so, on each transport; the others continue."""

import pytest

from backends import epochs
from backends.postgres.bridge import db
from events.hub import hub
from events.models import Epoch, Event, Journal
from events.writer import JournalWriter
from runs.models import FeedEntry
from tests.asgi import Exchange, ask
from tests.cast import Cast, LiveRun, start
from tests.web.calling import calling

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"accept": "text/event-stream"}
NUMBER = 7


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say("a", "b", "c")
    return run


@pytest.fixture(autouse=True)
def _first_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "latest", epochs.FIRST)


def go_back(live: LiveRun, head: int) -> None:
    """What a restored backup does: events are gone, and the epoch is another."""
    Event.objects.filter(journal=live.run.pk, seq__gt=head).delete()
    assert Journal.objects.filter(pk=live.run.pk).update(head=head) == 1
    Epoch.objects.create(number=NUMBER, timeline=None, began_at="2026-01-01T00:00Z")
    epochs.latest = NUMBER


async def test_a_stream_is_reset(cast: Cast, live: LiveRun) -> None:
    async with Exchange("GET", f"{live.url}?after=3", {**cast.vera.headers, **SSE}) as exchange:
        await exchange.until(b"id: 4")
        await db(go_back, live, 2)
        await hub().check_once()
        body = await exchange.rest()
    assert b'event: reset\ndata: {"reset":true,"epoch":7,"head":2}\n\n' in body


async def test_sockets_are_reset(cast: Cast, live: LiveRun) -> None:
    run = str(live.run.pk)
    async with (
        calling(cast.vera.headers) as peer,
        calling(cast.vera.headers, url=f"/ws/runs/{run}/?after=4") as one,
    ):
        name = (await peer.call("run.subscribe", run=run, after=4))["subscription"]
        await db(go_back, live, 2)
        await hub().check_once()
        assert await peer.until_end(name) == ([], "reset")
        assert await one.closed() == 4411


async def test_a_cursor_that_comes_back(cast: Cast, live: LiveRun) -> None:
    headers = cast.vera.headers
    assert (await ask("GET", f"{live.url}?after=5", headers)).code == "bad_cursor"
    await db(go_back, live, 2)
    for accept in ({}, SSE):
        answer = await ask("GET", f"{live.url}?after=4", {**headers, **accept})
        assert (answer.status, answer.code) == (410, "reset")
        assert answer.json["error"]["details"] == {"epoch": NUMBER, "head": 2}
        assert (await ask("GET", f"{live.url}?after=2", headers)).status == 200


async def test_the_feed_is_reset(cast: Cast, live: LiveRun) -> None:
    async with calling(cast.vera.headers) as peer:
        opened = await peer.call("team.subscribe")
        newest = await db(FeedEntry.objects.of_any_team().latest, "position")
        await db(go_back, live, 2)
        await db(newest.delete)
        assert await peer.until_end(opened["subscription"]) == ([], "reset")
        assert await peer.refused("team.subscribe", after=opened["cursor"]) == "reset"
