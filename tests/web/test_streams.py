"""Streams of a run, over SSE and WebSocket: cursors, headers, heartbeats, and how they end."""

import asyncio
from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey
from agui_host.web.asgi import application
from events.hub import hub
from events.models import Event
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from tests.asgi import Exchange, ask, events_of, http_scope, watch
from tests.cast import Cast, LiveRun, log_of, perform, start
from tests.web.calling import calling

pytestmark = pytest.mark.django_db(transaction=True)

SSE = {"accept": "text/event-stream"}
NOT_A_CURSOR = ["-1", "x", "", "1.5", "0x1", "1e3", "٣", "99999999999", "1,2"]
SAID = ["a", "b", "c"]


@pytest.fixture
async def live(cast: Cast, writer: JournalWriter) -> LiveRun:
    """A running run with four events: RUN_STARTED, then a, b, c."""
    run = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await run.say(*SAID)
    return run


@pytest.fixture
async def ended(live: LiveRun) -> LiveRun:
    """The same, ended: five events."""
    await live.end()
    return live


async def stored(live: LiveRun) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(await db(log_of, live.run), 1))


class TestCursors:
    """What a GET with ``?after=`` or ``Last-Event-ID`` reads, of a live and of an ended run."""

    async def test_none_for_a_live_run_is_a_prelude_and_the_tail(
        self, cast: Cast, live: LiveRun
    ) -> None:
        async with Exchange("GET", live.url, {**cast.vera.headers, **SSE}) as exchange:
            await live.say("d")
            await live.end()
            events = events_of(await exchange.rest())
        opening = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
        assert [event["type"] for _, event in events[:3]] == opening
        assert [seq for seq, _ in events[:3]] == [None, None, 4]
        assert events[3:] == (await stored(live))[4:]

    @pytest.mark.parametrize("after", [0, 1, 3, 4])
    async def test_of_a_live_run(self, cast: Cast, live: LiveRun, after: int) -> None:
        query = f"?after={after}"
        async with Exchange("GET", live.url + query, {**cast.vera.headers, **SSE}) as exchange:
            assert exchange.status == 200
            await live.say("d")
            await live.end()
            body = await exchange.rest()
        assert events_of(body) == (await stored(live))[after:]

    @pytest.mark.parametrize("after", [None, 0, 1, 4])
    async def test_of_an_ended_run(self, cast: Cast, ended: LiveRun, after: int | None) -> None:
        headers = {**cast.vera.headers, **SSE}
        if after is not None:
            headers["last-event-id"] = str(after)
        answer = await ask("GET", ended.url, headers)
        assert answer.status == 200
        assert events_of(answer.body) == (await stored(ended))[after or 0 :]

    async def test_at_the_end_there_is_nothing_more_to_come(
        self, cast: Cast, ended: LiveRun
    ) -> None:
        """204 is what stops a native EventSource from coming back for ever."""
        headers = {**cast.vera.headers, **SSE}
        for url, extra in (
            (f"{ended.url}?after=5", {}),
            (ended.url, {"last-event-id": "5"}),
        ):
            answer = await ask("GET", url, {**headers, **extra})
            assert (answer.status, answer.body) == (204, b"")

    async def test_the_last_event_id_wins(self, cast: Cast, ended: LiveRun) -> None:
        headers = {**cast.vera.headers, **SSE, "last-event-id": "4"}
        answer = await ask("GET", f"{ended.url}?after=1", headers)
        assert [seq for seq, _ in events_of(answer.body)] == [5]

    async def test_garbage(self, cast: Cast, ended: LiveRun, subtests: pytest.Subtests) -> None:
        headers = {**cast.vera.headers, **SSE}
        for cursor in NOT_A_CURSOR:
            header = cursor.encode().decode("latin-1")
            for url, extra in (
                (f"{ended.url}?after={cursor}", {}),
                (f"{ended.url}?after=0", {"last-event-id": header}),
            ):
                with subtests.test(cursor):
                    answer = await ask("GET", url, {**headers, **extra})
                    assert (answer.status, answer.code) == (400, "bad_cursor")

    @pytest.mark.parametrize("end_it", [True, False])
    async def test_beyond_the_head(self, cast: Cast, live: LiveRun, end_it: bool) -> None:
        if end_it:
            await live.end()
        head = 5 if end_it else 4
        answer = await ask("GET", f"{live.url}?after={head + 1}", {**cast.vera.headers, **SSE})
        assert (answer.status, answer.code) == (400, "bad_cursor")
        assert answer.json["error"]["details"] == {"head": head}

    async def test_of_a_queued_run(self, cast: Cast, writer: JournalWriter) -> None:
        run = await db(start, cast.alice)
        url = f"/api/v1/runs/{run.pk}/events"
        async with Exchange("GET", url, {**cast.vera.headers, **SSE}) as exchange:
            assert exchange.status == 200
            await perform(run, writer)
            types = [event["type"] for _, event in events_of(await exchange.rest())]
        assert types == ["RUN_STARTED", "RUN_FINISHED"]


class TestServerSentEvents:
    async def test_the_headers_say_what_proxies_and_clients_need(
        self, cast: Cast, ended: LiveRun
    ) -> None:
        answer = await ask("GET", ended.url, {**cast.vera.headers, **SSE})
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["content-location"] == ended.url
        assert answer.headers["x-request-id"]
        assert "content-length" not in answer.headers
        assert answer.body.startswith(b"retry: 1000\nid: 1\n")

    async def test_events_are_the_stored_bytes(self, cast: Cast, ended: LiveRun) -> None:
        answer = await ask("GET", f"{ended.url}?after=1", {**cast.vera.headers, **SSE})
        rows = await db(lambda: list(Event.objects.filter(journal_id=ended.run.pk, seq__gt=1)))
        rows.sort(key=lambda row: row.seq)
        frames = [f"id: {row.seq}\ndata: {row.payload}\n\n" for row in rows]
        assert answer.body.decode() == "retry: 1000\n" + "".join(frames)

    async def test_silence_is_filled_with_comments(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.AGUI_SSE_HEARTBEAT = settings.AGUI_HUB_TICK = 0.05
        async with Exchange("GET", f"{live.url}?after=4", {**cast.vera.headers, **SSE}) as exchange:
            received = await exchange.until(b": heartbeat\n: heartbeat\n")
            await live.end()
            received += await exchange.rest()
        assert [seq for seq, _ in events_of(received)] == [5]

    async def test_leaving_does_not_cancel(self, cast: Cast, live: LiveRun) -> None:
        async with Exchange("GET", live.url, {**cast.vera.headers, **SSE}) as exchange:
            await exchange.until(b"id: 4\n")
        await live.say("still here")
        await live.end()
        assert (await stored(live))[-1][1]["type"] == "RUN_FINISHED"

    async def test_a_revoked_key_loses_its_stream(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.AGUI_SSE_HEARTBEAT = settings.AGUI_HUB_TICK = 0.05
        async with Exchange("GET", live.url, {**cast.vera.headers, **SSE}) as exchange:
            await exchange.until(b": heartbeat\n")
            await db(revoke, cast.vera.key)
            rest = await exchange.rest()
        assert b": revoked\n" in rest
        await live.end()

    async def test_without_asking_for_a_stream_there_is_a_page(
        self, cast: Cast, ended: LiveRun
    ) -> None:
        for accept in ({}, {"accept": "*/*"}, {"accept": "application/json"}):
            answer = await ask("GET", ended.url, {**cast.vera.headers, **accept})
            assert answer.headers["content-type"] == "application/json"
            assert answer.json["head"] == 5


def revoke(key: str) -> None:
    keys.revoke(ApiKey.objects.get(prefix=keys.beginning(key)))


async def test_a_reader_may_leave_at_any_moment(cast: Cast, live: LiveRun) -> None:
    """Also while it subscribes: it ends at once, and the hub forgets it."""
    for steps in [*range(30), 35, 40, 50, 60, 80]:
        scope = http_scope("GET", live.url, {**cast.vera.headers, **SSE})
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        inbox.put_nowait({"type": "http.request", "body": b"", "more_body": False})
        started = asyncio.Event()

        async def send(message: dict[str, Any], started: asyncio.Event = started) -> None:
            started.set()

        serving = asyncio.create_task(application(scope, inbox.get, send))
        await started.wait()
        for _ in range(steps):
            await asyncio.sleep(0)
        inbox.put_nowait({"type": "http.disconnect"})
        async with asyncio.timeout(10):
            await serving
        assert hub().readers == {}, steps
        await hub().check_once()  # so that the next one subscribes anew
    await live.end()


class TestPost:
    """The stock client's way: POST a RunAgentInput, read the run from the answer."""

    @pytest.mark.parametrize(
        ("url", "accept"),
        [
            ("/agui", SSE),
            ("/agui", {"accept": "*/*"}),
            ("/agui/", {}),
            ("/api/agui", {}),
            ("/", {}),
            ("/agui/agent/echo/run", {}),
            ("/agui?on_busy=reject", {}),
        ],
    )
    async def test_starts_and_streams(
        self, cast: Cast, writer: JournalWriter, url: str, accept: dict[str, str]
    ) -> None:
        body = {"messages": [{"role": "user", "content": "hello"}]}
        async with Exchange("POST", url, {**cast.bob.headers, **accept}, json=body) as exchange:
            assert exchange.status == 200
            assert exchange.headers["content-type"].startswith("text/event-stream")
            run = await db(Run.objects.get)
            assert exchange.headers["content-location"] == f"/api/v1/runs/{run.pk}/events"
            await perform(run, writer)
            events = events_of(await exchange.rest())
        assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
        assert events[0][1]["type"] == "RUN_STARTED"
        assert "hello" in [event.get("delta") for _, event in events]
        assert events[-1][1]["type"] == "RUN_FINISHED"

    async def test_a_run_id_that_exists_is_joined_and_never_replayed(
        self, cast: Cast, ended: LiveRun
    ) -> None:
        again = {"threadId": "t", "runId": "r"}
        answer = await ask("POST", "/agui", cast.alice.headers, json=again)
        events = [event for _, event in events_of(answer.body)]
        assert [event["type"] for event in events] == [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "MESSAGES_SNAPSHOT",
            "RUN_FINISHED",
        ]
        assert events[-1] == (await stored(ended))[-1][1]
        assert await db(Run.objects.count) == 1

    @pytest.mark.parametrize("cursor", [0, 2, 4])
    async def test_with_a_cursor_it_is_read_from_there(
        self, cast: Cast, live: LiveRun, cursor: int
    ) -> None:
        again = {"thread_id": "t", "run_id": "r"}
        headers = {**cast.bob.headers, "last-event-id": str(cursor)}
        async with Exchange("POST", "/agui", headers, json=again) as exchange:
            assert exchange.status == 200
            await live.end()
            body = await exchange.rest()
        assert events_of(body) == (await stored(live))[cursor:]
        assert await db(Run.objects.count) == 1

    async def test_the_same_idempotency_key_reads_the_same_run(
        self, cast: Cast, writer: JournalWriter
    ) -> None:
        headers = {**cast.bob.headers, "idempotency-key": "k"}
        async with (
            Exchange("POST", "/agui", headers, json={"state": 1}) as first,
            Exchange("POST", "/agui", headers, json={"state": 1}) as again,
        ):
            assert first.headers["content-location"] == again.headers["content-location"]
            await perform(await db(Run.objects.get), writer)
            assert await first.rest() == await again.rest()


class TestWebSocket:
    @staticmethod
    def url(live: LiveRun, after: object = None) -> str:
        query = "" if after is None else f"?after={after}"
        return f"/ws/runs/{live.run.pk}/{query}"

    @pytest.mark.parametrize("after", [None, 0, 2, 4])
    async def test_a_live_run(self, cast: Cast, live: LiveRun, after: int | None) -> None:
        watching = asyncio.create_task(watch(self.url(live, after), cast.vera.headers))
        await live.say("d")
        await live.end()
        events, code = await watching
        assert events == [event for _, event in await stored(live)][after or 0 :]
        assert code == 1000

    @pytest.mark.parametrize("after", [None, 0, 4, 5])
    async def test_an_ended_run(self, cast: Cast, ended: LiveRun, after: int | None) -> None:
        events, code = await watch(self.url(ended, after), cast.vera.headers)
        assert events == [event for _, event in await stored(ended)][after or 0 :]
        assert code == 1000

    async def test_a_bad_cursor(
        self, cast: Cast, ended: LiveRun, subtests: pytest.Subtests
    ) -> None:
        for cursor in (*NOT_A_CURSOR, "6"):
            with subtests.test(cursor):
                assert await watch(self.url(ended, cursor), cast.vera.headers) == ([], 4400)

    async def test_bad_credentials(self, cast: Cast, ended: LiveRun) -> None:
        revoked = cast.vera.headers
        await db(revoke, cast.vera.key)
        for headers in ({}, {"authorization": "Bearer nonsense"}, revoked):
            assert await watch(self.url(ended), headers) == ([], 4401)

    async def test_another_teams_run_is_not_there(self, cast: Cast, ended: LiveRun) -> None:
        assert await watch(self.url(ended), cast.charlie.headers) == ([], 4404)

    async def test_a_frame_is_answered_by_an_error_that_is_no_event(
        self, cast: Cast, live: LiveRun
    ) -> None:
        async with calling(cast.vera.headers, url=self.url(live, 3)) as peer:
            assert (await peer.next())["value"] == "c"
            for frame in ('{"type": "abort"}', "{", "null", "x" * 100_000):
                await peer.send(frame)
                refusal = await peer.next()
                assert set(refusal) == {"error"}
                assert refusal["error"]["code"] == "bad_request"
            await live.end()
            assert (await peer.next())["type"] == "RUN_FINISHED"
            assert await peer.closed() == 1000
        assert (await stored(live))[-1][1]["type"] == "RUN_FINISHED"

    async def test_heartbeats_for_those_who_want_them(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.AGUI_HUB_TICK = 0.05
        async with calling(cast.vera.headers, url=self.url(live, 3) + "&heartbeat=1") as peer:
            assert (await peer.next())["value"] == "c"
            assert await peer.next() == await peer.next() == {"type": "ping"}
        await live.end()
        for text in ("0", "-1", "x", "", "3601", "1.5", "٣"):
            url = self.url(live, 3) + f"&heartbeat={text}"
            assert await watch(url, cast.vera.headers) == ([], 4400), text

    async def test_an_unknown_address(self, cast: Cast, bell: None) -> None:
        for url in (
            "/ws/runs/01999999-9999-7999-8999-999999999999/",
            "/ws/runs/not-a-uuid/",
            "/ws/nowhere/",
            "/",
        ):
            assert await watch(url, cast.vera.headers) == ([], 4404), url

    async def test_a_cookie_counts_only_from_our_own_pages(
        self, cast: Cast, ended: LiveRun, settings: Settings
    ) -> None:
        settings.AGUI_ALLOWED_ORIGINS = ["https://app.example", "*"]
        for origin, code in {
            "http://localhost": 1000,
            "https://app.example": 1000,
            "https://localhost": 4403,
            "https://evil.example": 4403,
            "null": 4403,
            None: 4403,
        }.items():
            headers = {**cast.alice.cookie, **({"origin": origin} if origin else {})}
            assert (await watch(self.url(ended), headers))[1] == code, origin

    async def test_a_key_may_come_from_anywhere(self, cast: Cast, ended: LiveRun) -> None:
        headers = {**cast.vera.headers, "origin": "https://evil.example"}
        assert (await watch(self.url(ended), headers))[1] == 1000

    async def test_another_name_of_this_host(self, cast: Cast, ended: LiveRun) -> None:
        headers = {**cast.vera.headers, "host": "evil.example"}
        assert await watch(self.url(ended), headers) == ([], 4403)

    async def test_a_revoked_key_loses_its_socket(
        self, cast: Cast, live: LiveRun, settings: Settings
    ) -> None:
        settings.AGUI_SSE_HEARTBEAT = settings.AGUI_HUB_TICK = 0.05
        watching = asyncio.create_task(watch(self.url(live), cast.vera.headers))
        await db(revoke, cast.vera.key)
        events, code = await watching
        assert code in (4401, 4403), "refused at the door, or shown out"
        assert events in ([], [event for _, event in await stored(live)])

    async def test_a_cancelled_queued_run_tells_its_readers(self, cast: Cast, bell: None) -> None:
        run = await db(start, cast.alice)
        watching = asyncio.create_task(watch(f"/ws/runs/{run.pk}/", cast.vera.headers))
        await db(lifecycle.cancel, run)
        events, code = await watching
        assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_FINISHED"]
        assert code == 1000
