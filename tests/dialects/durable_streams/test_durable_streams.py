"""GET and HEAD /api/v1/runs/{id}/stream: pages, caches, long-poll, SSE, and what is refused."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.durable_streams import endpoints as durable_streams
from agui_host.dialects.durable_streams import wire
from agui_host.teams import keys
from agui_host.teams.models import ApiKey
from events.hub import hub
from events.models import Event, Journal
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import Answer, Exchange, ask
from tests.cast import Cast, LiveRun, log_of, start

pytestmark = pytest.mark.django_db(transaction=True)

NOT_AN_OFFSET = ["", "x", "0", "4", "-2", "NOW", "00000000000000041", "000000000000000٣", "1,2"]
BEYOND = "0000000000000006"


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events: RUN_STARTED, then a, b, c."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say("a", "b", "c")
    return run


@pytest.fixture
async def ended(live: LiveRun) -> LiveRun:
    """The same, ended: five events."""
    await live.end()
    return live


@pytest.fixture
def read(cast: Cast) -> Callable[..., Any]:
    async def read(live: LiveRun, query: str = "", method: str = "GET", **more: str) -> Answer:
        headers = {**cast.vera.headers, **{k.replace("_", "-"): v for k, v in more.items()}}
        return await ask(method, f"/api/v1/runs/{live.run.pk}/stream{query}", headers)

    return read


Read = Callable[..., Any]


def control(chunk: bytes) -> dict[str, Any]:
    """The last control event of a stream's piece."""
    last = chunk.decode().rsplit("event: control\ndata: ", 1)[1]
    return dict(json.loads(last.split("\n\n")[0]))


class TestPages:
    async def test_the_whole_log_and_its_end(self, ended: LiveRun, read: Read) -> None:
        log = await db(log_of, ended.run)
        for query in ("", "?offset=-1", f"?offset={wire.offset(0)}"):
            answer = await read(ended, query)
            assert answer.status == 200
            assert answer.json == log
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["stream-next-offset"] == "0000000000000005"
            assert answer.headers["stream-closed"] == "true"
            assert answer.headers["stream-up-to-date"] == "true"
        assert (await read(ended, f"?offset={wire.offset(3)}")).json == log[3:]

    async def test_an_open_run_has_no_end_yet(self, live: LiveRun, read: Read) -> None:
        answer = await read(live)
        assert len(answer.json) == 4
        assert answer.headers["stream-up-to-date"] == "true"
        assert "stream-closed" not in answer.headers
        assert answer.headers["cache-control"] == "private, no-cache"
        at_head = await read(live, f"?offset={answer.headers['stream-next-offset']}")
        assert (at_head.status, at_head.json) == (200, [])

    async def test_now_is_the_end_of_what_there_is(self, ended: LiveRun, read: Read) -> None:
        answer = await read(ended, "?offset=now")
        assert (answer.status, answer.json) == (200, [])
        assert answer.headers["stream-next-offset"] == wire.offset(5)
        assert answer.headers["stream-closed"] == "true"
        assert answer.headers["cache-control"] == "no-store"

    async def test_head(self, live: LiveRun, read: Read) -> None:
        answer = await read(live, method="HEAD")
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers["stream-next-offset"] == wire.offset(4)
        assert answer.headers["content-type"] == "application/json"
        assert "stream-closed" not in answer.headers
        await live.end()
        answer = await read(live, method="HEAD")
        assert answer.headers["stream-next-offset"] == wire.offset(5)
        assert answer.headers["stream-closed"] == "true"

    async def test_a_sealed_page_is_immutable(self, live: LiveRun, read: Read) -> None:
        before = (await read(live)).headers["etag"]
        assert (await read(live, if_none_match=before)).status == 304
        await live.end()
        answer = await read(live, if_none_match=before)
        assert answer.status == 200
        etag = answer.headers["etag"]
        assert "private" in answer.headers["cache-control"]
        assert "immutable" in answer.headers["cache-control"]
        for known in (etag, f'"other", W/{etag}', "*"):
            again = await read(live, if_none_match=known)
            assert (again.status, again.body) == (304, b"")
            assert again.headers["etag"] == etag

    async def test_one_page_holds_what_many_reads_bring(
        self, cast: Cast, writer: JournalWriter, read: Read
    ) -> None:
        live = await LiveRun.begin(await db(start, cast.alice, threadId="u"), writer)
        await live.say(*(f"{number} " + "x" * 300 for number in range(1_500)))
        await live.end()
        assert (await read(live)).json == await db(log_of, live.run)


class TestLongPoll:
    async def test_waits_for_the_next_events(self, cast: Cast, live: LiveRun) -> None:
        url = f"/api/v1/runs/{live.run.pk}/stream?live=long-poll&offset=now"
        waiting = asyncio.create_task(ask("GET", url, cast.vera.headers))
        await _until_followed(live)
        await live.say("d")
        answer = await waiting
        assert [event["value"] for event in answer.json] == ["d"]
        assert answer.headers["stream-next-offset"] == wire.offset(5)
        assert answer.headers["stream-cursor"].isdecimal()

    async def test_ends(self, ended: LiveRun, read: Read) -> None:
        for offset in ("now", wire.offset(5)):
            answer = await read(ended, f"?live=long-poll&offset={offset}")
            assert (answer.status, answer.body) == (204, b"")
            assert answer.headers["stream-closed"] == "true"
            assert answer.headers["stream-up-to-date"] == "true"
            assert answer.headers["stream-next-offset"] == wire.offset(5)
        behind = await read(ended, f"?live=long-poll&offset={wire.offset(4)}")
        assert [event["type"] for event in behind.json] == ["RUN_FINISHED"]

    async def test_gives_up(
        self, live: LiveRun, read: Read, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(durable_streams, "LONG_POLL_SECONDS", 0.05)
        first = await read(live, "?live=long-poll&offset=now")
        assert first.status == 204
        assert "stream-closed" not in first.headers
        cursor = first.headers["stream-cursor"]
        again = await read(live, f"?live=long-poll&offset={wire.offset(4)}&cursor={cursor}")
        assert int(again.headers["stream-cursor"]) > int(cursor)

    async def test_ends_when_the_log_has_lost_events(
        self, cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As after an asynchronous failover: not with half a page and an offset that goes back."""
        monkeypatch.setattr(durable_streams, "LONG_POLL_SECONDS", 1)
        url = f"/api/v1/runs/{live.run.pk}/stream?live=long-poll&offset=now"
        waiting = asyncio.create_task(ask("GET", url, cast.vera.headers))
        await _until_followed(live)
        await db(_lose, live, 2)
        answer = await waiting
        assert (answer.status, answer.code) == (410, "reset")
        assert answer.json["error"]["details"]["head"] == 2

    async def test_ends_when_the_reader_loses_access(self, cast: Cast, live: LiveRun) -> None:
        url = f"/api/v1/runs/{live.run.pk}/stream?live=long-poll&offset=now"
        waiting = asyncio.create_task(ask("GET", url, cast.vera.headers))
        await _until_followed(live)
        await db(lambda: keys.revoke(ApiKey.objects.get(prefix=cast.vera.key_prefix)))
        assert (await waiting).status == 401


class TestSse:
    async def test_of_an_ended_run(self, ended: LiveRun, read: Read) -> None:
        answer = await read(ended, "?live=sse&offset=-1")
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        data = answer.body.decode().split("event: data\ndata: ", 1)[1].split("\n\n")[0]
        assert json.loads(data) == await db(log_of, ended.run)
        end = {"streamNextOffset": wire.offset(5), "upToDate": True, "streamClosed": True}
        assert control(answer.body) == end
        at_end = await read(ended, "?live=sse&offset=now")
        assert b"event: data" not in at_end.body
        assert control(at_end.body) == end

    async def test_of_a_live_run(self, cast: Cast, live: LiveRun) -> None:
        url = f"/api/v1/runs/{live.run.pk}/stream?live=sse&offset=now"
        async with Exchange("GET", url, cast.vera.headers) as exchange:
            first = control(await exchange.until(b"streamNextOffset"))
            assert (first["streamNextOffset"], first["upToDate"]) == (wire.offset(4), True)
            assert first["streamCursor"].isdecimal()
            assert "streamClosed" not in first
            await live.say("d")
            frames = await exchange.until(wire.offset(5).encode())
            assert b'"value":"d"' in frames
            await live.end()
            assert control(await exchange.rest())["streamClosed"] is True


class TestRefusals:
    async def test_what_is_no_offset(self, ended: LiveRun, read: Read) -> None:
        for offset in [*NOT_AN_OFFSET, BEYOND]:
            for live in ("", "&live=long-poll", "&live=sse"):
                answer = await read(ended, f"?offset={offset}{live}")
                assert (answer.status, answer.code) == (400, "bad_cursor"), offset
        for query in ("?live=long-poll", "?live=sse", "?live=true&offset=-1"):
            assert (await read(ended, query)).status == 400

    async def test_a_run_that_is_not_there(self, cast: Cast, ended: LiveRun) -> None:
        for key, run in ((cast.vera, cast.team.pk), (cast.charlie, ended.run.pk)):
            for query in ("", "?offset=x", "?live=sse&offset=-1"):
                answer = await ask("GET", f"/api/v1/runs/{run}/stream{query}", key.headers)
                assert answer.status == 404
            assert (await ask("HEAD", f"/api/v1/runs/{run}/stream", key.headers)).status == 404
        assert (await ask("GET", f"/api/v1/runs/{ended.run.pk}/stream")).status == 401

    async def test_a_purged_run(self, ended: LiveRun, read: Read) -> None:
        runs = Run.objects.of_any_team().filter(pk=ended.run.pk)
        await db(lambda: runs.update(purged_at=timezone.now()))
        answer = await read(ended)
        assert (answer.status, answer.code) == (410, "purged")

    async def test_other_methods(self, ended: LiveRun, read: Read) -> None:
        for method in ("PUT", "DELETE", "PATCH"):
            assert (await read(ended, method=method)).status == 405


async def test_a_run_says_where_its_stream_is(cast: Cast, live: LiveRun) -> None:
    answer = await ask("GET", f"/api/v1/runs/{live.run.pk}", cast.vera.headers)
    assert answer.json["stream_url"] == f"/api/v1/runs/{live.run.pk}/stream"


def test_cursors_never_go_back() -> None:
    now = 1_728_432_000 + 20 * 1000
    assert wire.cursor(None, now) == "1000"
    assert wire.cursor("999", now) == "1000"
    assert wire.cursor("garbage", now) == "1000"
    assert int(wire.cursor("1000", now)) > 1000
    assert int(wire.cursor("2000", now)) > 2000


async def _until_followed(live: LiveRun) -> None:
    async with asyncio.timeout(30):
        while live.run.pk not in hub().readers:
            await asyncio.sleep(0.01)


def _lose(live: LiveRun, head: int) -> None:
    Event.objects.filter(journal=live.run.pk, seq__gt=head).delete()
    assert Journal.objects.filter(pk=live.run.pk).update(head=head) == 1
