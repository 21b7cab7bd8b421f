"""WS /agui/agent/{slug}/ws: TanStack's envelope over one conversation's socket."""

from typing import Any

import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, Membership
from events.writer import JournalWriter
from runs.models import Run
from tests.cast import Cast, LiveRun, fresh, log_of, perform, start
from tests.web.calling import Peer, calling

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/agui/agent/echo/ws"


async def chunks(peer: Peer, many: int) -> list[tuple[str, dict[str, Any]]]:
    frames = [await peer.next() for _ in range(many)]
    assert all(set(frame) == {"id", "chunk"} for frame in frames), frames
    return [(frame["id"], frame["chunk"]) for frame in frames]


async def stored(run: Run) -> list[tuple[str, dict[str, Any]]]:
    return [(str(seq), event) for seq, event in enumerate(await db(log_of, run), 1)]


async def test_turns_of_a_conversation(cast: Cast, writer: JournalWriter) -> None:
    async with calling(cast.bob.headers, url=URL) as peer:
        for number in (1, 2):
            message = {"id": f"m{number}", "role": "user", "content": f"hello {number}"}
            await peer.send({"threadId": "t", "runId": f"r{number}", "messages": [message]})
            while not (run := await db(Run.objects.filter(run_id=f"r{number}").first)):
                pass
            await perform(run, writer)
            log = await stored(run)
            assert await chunks(peer, len(log)) == log
        await peer.send({"threadId": "t", "runId": "r2", "messages": []})
        assert await chunks(peer, len(log)) == log, "a repeated runId is that run"
    assert await db(Run.objects.count) == 2


async def test_abort_stops_the_run_and_leaving_does_not(cast: Cast, writer: JournalWriter) -> None:
    async with calling(cast.bob.headers, url=URL) as peer:
        await peer.send({"threadId": "t", "runId": "stopped"})
        await peer.send({"type": "abort", "runId": "nobody's"})
        refusal = await peer.next()
        assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "not_found")
        while not (run := await db(Run.objects.filter(run_id="stopped").first)):
            pass
        await peer.send({"threadId": "u", "runId": "left"})
        while not (left := await db(Run.objects.filter(run_id="left").first)):
            pass
        await peer.send({"type": "abort", "runId": "stopped"})
        assert (await chunks(peer, 2))[-1][1]["outcome"]["type"] == "cancelled"
    assert (await db(fresh, run)).status == "cancelled"
    assert (await perform(left, writer)).status == "succeeded"


async def test_an_offset_reads_on(cast: Cast, writer: JournalWriter) -> None:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await live.say("a", "b")
    await live.end()
    log = await stored(live.run)
    for offset in (-1, 0, 2, 4):
        async with calling(cast.vera.headers, url=f"{URL}?runId=r&offset={offset}") as peer:
            assert await chunks(peer, 4 - max(0, offset)) == log[max(0, offset) :]
            assert await peer.closed() == 1000
    for query, code in (
        ("runId=r&offset=5", 4400),
        ("runId=r&offset=x", 4400),
        ("runId=nowhere&offset=-1", 4404),
        ("offset=-1", 4404),
    ):
        async with calling(cast.vera.headers, url=f"{URL}?{query}") as peer:
            assert await peer.closed() == code, query
    async with calling(cast.charlie.headers, url=f"{URL}?runId=r&offset=-1") as peer:
        assert await peer.closed() == 4404
    twin = await LiveRun.begin(await db(start, cast.alice, threadId="u", runId="r"), writer)
    async with calling(cast.vera.headers, url=f"{URL}?runId=r&offset=-1") as peer:
        assert await peer.closed() == 4409
    await twin.end()


async def test_what_is_no_turn_is_an_error(cast: Cast, bell: None, settings: Settings) -> None:
    settings.AGUI_MAX_BODY_BYTES = 10_000
    async with calling(cast.bob.headers, url=URL) as peer:
        for frame, code in (
            ("{", "bad_json"),
            ("[]", "bad_request"),
            ({"type": "dance"}, "bad_request"),
            ({"messages": 3}, "invalid"),
            ({"state": "x" * 10_000}, "too_large"),
        ):
            await peer.send(frame)
            error = await peer.next()
            assert (error["type"], error["code"]) == ("RUN_ERROR", code)
        await peer.send({"type": "ping"})
        assert await peer.next() == {"type": "ping"}
    async with calling(cast.vera.headers, url=URL) as peer:
        await peer.send({})
        assert (await peer.next())["code"] == "forbidden"
    async with calling(cast.bob.headers, url="/agui/agent/nobody/ws") as peer:
        await peer.send({})
        assert (await peer.next())["code"] == "unknown_agent"
    assert await db(Run.objects.count) == 0


async def test_a_revoked_key_closes_it(cast: Cast, bell: None) -> None:
    async with calling(cast.bob.headers, url=URL) as peer:
        await peer.send({"threadId": "t", "runId": "r"})
        while not await db(Run.objects.exists):
            pass
        await db(lambda: keys.revoke(ApiKey.objects.get(name="bob")))
        assert await peer.closed() == 4403
    async with calling({}, url=URL) as peer:
        assert await peer.closed() == 4401


@pytest.mark.parametrize("url", [URL, "/ws/"], ids=("tanstack", "host"))
async def test_an_idle_socket_ends_with_its_credential(cast: Cast, bell: None, url: str) -> None:
    async with calling(cast.bob.headers, url=url) as peer:
        await db(lambda: keys.revoke(ApiKey.objects.get(name="bob")))
        assert await peer.closed() == 4403


async def test_an_idle_socket_ends_with_its_persons_place_in_the_team(
    cast: Cast, bell: None, settings: Settings
) -> None:
    settings.AGUI_SSE_HEARTBEAT = 0.3
    own = {**cast.bob.cookie, "origin": "http://localhost"}
    async with calling(own, url=URL) as peer:
        await peer.send({"type": "ping"})
        assert await peer.next() == {"type": "ping"}
        # Without a bell: the next check ends it, too.
        await db(Membership.objects.of_one_person().filter(user=cast.bob.user).delete)
        assert await peer.closed() == 4403
