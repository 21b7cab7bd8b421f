"""What subscriptions of one socket do to each other: nothing; and how they and the socket end."""

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.teams import keys
from agui_host.teams.models import ApiKey, StreamTicket
from agui_host.web.host_socket import subscriptions
from events import purge, recheck
from events.hub import hub
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.lifecycle.deletion import erasure, retention
from tests.asgi import DEADLINE, ask
from tests.cast import Cast, LiveRun, start
from tests.web.calling import Peer, calling

pytestmark = pytest.mark.django_db(transaction=True)


async def events(peer: Peer, name: str, many: int) -> list[int]:
    """The numbers of the next events of a subscription."""
    numbers: list[int] = []
    while len(numbers) < many:
        params = await peer.params("event")
        if params["subscription"] == name:
            numbers.append(params["seq"])
    return numbers


async def nobody_reads() -> None:
    """Wait until a subscription that is out of credit holds nothing any more."""
    async with asyncio.timeout(DEADLINE):
        while hub().readers:
            await asyncio.sleep(0.01)


class TestCredit:
    async def test_a_window_is_all_that_is_sent_before_an_acknowledgement(
        self, cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(subscriptions, "PATIENCE", 0.05)  # so that it reads the log again, too
        await live.say(*map(str, range(30)))
        async with calling(cast.vera.headers) as peer:
            result = await peer.call("run.subscribe", run=str(live.run.pk), window=10)
            name, position = result["subscription"], 0
            while position < 30:
                numbers = await events(peer, name, 10)
                assert numbers == list(range(position + 1, position + 11))
                await peer.call("ping")
                assert peer.notes == [], "more than the window"
                position += 10
                if position == 20:
                    await nobody_reads()
                await peer.notify("ack", subscription=name, seq=position)
            await live.end()
            assert (await peer.until_end(name))[1] == "finished"

    async def test_one_without_credit_for_long_is_ended_and_comes_back_with_its_cursor(
        self, cast: Cast, live: LiveRun, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.AGUI_STALL_TIMEOUT = 0.3
        monkeypatch.setattr(subscriptions, "PATIENCE", 0.05)
        async with calling(cast.vera.headers) as peer:
            run = str(live.run.pk)
            result = await peer.call("run.subscribe", run=run, window=3)
            count, reason = await peer.until_end(result["subscription"])
            assert ([seq for seq, _ in count], reason) == ([1, 2, 3], "slow")
            settings.AGUI_STALL_TIMEOUT = 60.0
            result = await peer.call("run.subscribe", run=run, after=3)
            await live.end()
            count, reason = await peer.until_end(result["subscription"])
            assert ([seq for seq, _ in count], reason) == ([4, 5], "finished")

    async def test_an_acknowledgement_after_the_end_is_no_error(
        self, cast: Cast, live: LiveRun
    ) -> None:
        await live.end()
        async with calling(cast.vera.headers) as peer:
            name = (await peer.call("run.subscribe", run=str(live.run.pk)))["subscription"]
            await peer.until_end(name)
            await peer.notify("ack", subscription=name, seq=5)
            assert await peer.call("ping") == {}
            assert peer.notes == []


async def test_a_flood_leaves_its_neighbour_its_turn(
    cast: Cast, live: LiveRun, writer: JournalWriter
) -> None:
    """A quiet run's event comes between a few pieces of the flood, not behind all of it."""
    await live.say(*map(str, range(2_000)))
    quiet = await LiveRun.begin(await db(start, cast.alice, threadId="quiet"), writer)
    async with calling(cast.vera.headers) as peer:
        calm = (await peer.call("run.subscribe", run=str(quiet.run.pk)))["subscription"]
        assert await events(peer, calm, 1) == [1]
        flood = await peer.call("run.subscribe", run=str(live.run.pk), window=10_000)
        await events(peer, flood["subscription"], 1)
        again = (await peer.call("run.subscribe", run=str(quiet.run.pk)))["subscription"]
        before = [note["params"]["seq"] for note in peer.notes]
        peer.notes.clear()
        passed = 0
        while (params := await peer.params("event"))["subscription"] != again:
            passed += 1
        assert params["seq"] == 1
        assert before or passed < 2_000, "the flood had not begun"
        assert passed < 1_500, "the quiet run came behind the flood"
    await live.end()
    await quiet.end()


@pytest.fixture
def _no_heartbeat(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks again by himself, not even once soon after the start: only the bell ends it."""
    settings.AGUI_SSE_HEARTBEAT = 600
    monkeypatch.setattr(recheck.random, "uniform", lambda low, high: 600)
    monkeypatch.setattr(recheck, "SOON", 600)


class TestRevocation:
    @pytest.mark.usefixtures("_no_heartbeat")
    async def test_of_a_grant_ends_only_what_it_opened(
        self, cast: Cast, live: LiveRun, writer: JournalWriter
    ) -> None:
        to = To(team=cast.other_team.pk)
        grant, _ = await db(sharing.share, cast.alice.principal, live.run, to, Terms())
        own = await LiveRun.begin(await db(start, cast.charlie), writer)
        async with calling(cast.charlie.headers) as peer:
            shared = (await peer.call("run.subscribe", run=str(live.run.pk)))["subscription"]
            mine = (await peer.call("run.subscribe", run=str(own.run.pk)))["subscription"]
            assert await events(peer, shared, 4) == [1, 2, 3, 4]
            await db(sharing.revoke, cast.alice.principal, grant.pk)
            end = await peer.params("end")
            assert end == {"subscription": shared, "reason": "revoked"}
            assert await peer.refused("run.subscribe", run=str(live.run.pk)) == "not_found"
            await own.end()
            assert (await peer.until_end(mine))[1] == "finished"
        await live.end()

    @pytest.mark.usefixtures("_no_heartbeat")
    async def test_of_the_key_ends_all_and_closes(self, cast: Cast, live: LiveRun) -> None:
        async with calling(cast.bob.headers) as peer:
            name = (await peer.call("run.subscribe", run=str(live.run.pk)))["subscription"]
            assert await events(peer, name, 4) == [1, 2, 3, 4]
            await db(revoke, cast.bob.key)
            assert await peer.closed() == 4403
            assert peer.notes[-1]["params"] == {"subscription": name, "reason": "revoked"}
        await live.end()

    @pytest.mark.usefixtures("_no_heartbeat")
    async def test_a_revoked_key_does_nothing_more_even_before_the_bell(
        self, cast: Cast, live: LiveRun
    ) -> None:
        async with calling(cast.bob.headers) as peer:
            await peer.call("ping")
            await db(ApiKey.objects.filter(name="bob").update, revoked=True)
            assert await peer.refused("run.start", input={}) == "unauthenticated"
            assert await peer.refused("run.cancel", run=str(live.run.pk)) == "unauthenticated"
            assert await peer.refused("run.subscribe", run=str(live.run.pk)) == "unauthenticated"
        await live.end()


def purge_thread(live: LiveRun) -> None:
    assert retention.purge_thread(live.run.thread_id, timezone.now()) == 1
    purge.sweep()


def revoke(key: str) -> None:
    keys.revoke(ApiKey.objects.get(prefix=keys.beginning(key)))


async def test_a_purged_run_ends_its_subscription(
    cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "PATIENCE", 0.05)
    await live.say(*map(str, range(10)))
    async with calling(cast.vera.headers) as peer:
        result = await peer.call("run.subscribe", run=str(live.run.pk), window=2)
        assert await events(peer, result["subscription"], 2) == [1, 2]
        await live.end()
        await nobody_reads()
        await db(purge_thread, live)
        await peer.notify("ack", subscription=result["subscription"], seq=2)
        assert (await peer.until_end(result["subscription"]))[1] == "purged"
        assert await peer.refused("run.subscribe", run=str(live.run.pk)) == "purged"


async def test_an_erased_run_ends_its_subscription(
    cast: Cast, live: LiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "PATIENCE", 0.05)
    async with calling(cast.vera.headers) as peer:
        result = await peer.call("run.subscribe", run=str(live.run.pk), window=2)
        assert await events(peer, result["subscription"], 2) == [1, 2]
        await live.end()
        await nobody_reads()
        await db(erasure.erase_thread, "test", live.run.thread)
        await peer.notify("ack", subscription=result["subscription"], seq=2)
        assert (await peer.until_end(result["subscription"]))[1] in ("purged", "revoked")
        assert await peer.refused("run.subscribe", run=str(live.run.pk)) == "not_found"


async def test_a_silent_socket_gets_pings(cast: Cast, bell: None, settings: Settings) -> None:
    settings.AGUI_SSE_HEARTBEAT = 0.05
    async with calling(cast.vera.headers) as peer:
        for _ in range(3):
            assert await peer.note() == {"jsonrpc": "2.0", "method": "ping", "params": {}}


async def test_credentials(cast: Cast, bell: None) -> None:
    own = {"origin": "http://localhost"}
    for headers, code in (
        ({}, 4401),
        ({"authorization": "Bearer agui_wrong"}, 4401),
        (cast.alice.cookie, 4403),
        ({**cast.alice.cookie, "origin": "https://elsewhere.example"}, 4403),
        ({"host": "elsewhere.example", **cast.alice.headers}, 4403),
    ):
        async with calling(headers) as peer:
            assert await peer.closed() == code, headers
    async with calling({**cast.alice.cookie, **own}) as peer:
        assert await peer.call("ping") == {}


class TestTickets:
    async def mint(self, headers: dict[str, str], **body: Any) -> dict[str, Any]:
        answer = await ask("POST", "/api/v1/tickets", headers, json=body)
        assert answer.status == 201, answer.body
        return dict(answer.json)

    async def test_for_a_socket_it_is_its_owner_once(self, cast: Cast, bell: None) -> None:
        minted = await self.mint(cast.bob.headers, socket=True)
        url = minted["websocket_url"]
        assert url == f"/ws/?ticket={quote(minted['ticket'])}"
        async with calling(url=url) as peer:
            run = (await peer.call("run.start", input={}))["run"]
            assert run["started_by"] == "key:" + cast.bob.key_prefix
            async with calling(url=url) as other:
                assert await other.closed() == 4401
            await db(revoke, cast.bob.key)
            assert await peer.closed() == 4403
        for path in ("/ws/?ticket=forged", f"/ws/runs/{run['id']}/?ticket={minted['ticket']}"):
            async with calling(url=path) as other:
                assert await other.closed() == 4401

    async def test_for_a_socket_its_times_and_its_session_count(
        self, cast: Cast, bell: None
    ) -> None:
        own = {**cast.alice.cookie, "origin": "http://localhost"}
        minted = await self.mint(own, socket=True)
        await db(StreamTicket.objects.update, created_at=timezone.now() - timedelta(seconds=61))
        async with calling(url=minted["websocket_url"]) as peer:
            assert await peer.closed() == 4401
        fresh = await self.mint(own, socket=True)
        async with calling(url=fresh["websocket_url"]) as peer:
            assert (await peer.call("run.start", input={}))["run"]["started_by"] == "user:alice"
        for_run = await ask("POST", "/api/v1/tickets", own, json={"socket": False})
        assert (for_run.status, for_run.code) == (422, "invalid")

    async def test_for_a_run_or_a_thread_it_reads_only_that(
        self, cast: Cast, live: LiveRun
    ) -> None:
        other = str((await db(start, cast.alice)).pk)
        run = str(live.run.pk)
        for body in ({"run": run}, {"thread_id": "t"}):
            ticket = (await self.mint(cast.alice.headers, **body))["ticket"]
            async with calling(url=f"/ws/?ticket={ticket}") as peer:
                await peer.call("run.subscribe", run=run)
                assert await peer.refused("run.subscribe", run=other) == "not_found"
                assert await peer.refused("run.start", input={}) == "forbidden"
                assert await peer.refused("run.cancel", run=run) == "forbidden"
                assert await peer.refused("team.subscribe") == "forbidden"
        await live.end()


async def test_leaving_forgets_everything_and_cancels_nothing(cast: Cast, live: LiveRun) -> None:
    async with calling(cast.vera.headers) as peer:
        for _ in range(20):
            await peer.call("run.subscribe", run=str(live.run.pk), window=1)
        await peer.call("thread.subscribe", thread_id="t")
    assert hub().readers == {}
    tasks = {task.get_name() for task in asyncio.all_tasks()}
    assert not [name for name in tasks if name.startswith("socket")]
    await live.say("d")
    await live.end()
