"""CopilotKit's channels: what opens one, what it sends, and what it refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator

from agui_host.backends.postgres.bridge import db
from agui_host.web.asgi import application
from events.writer import JournalWriter
from runs.models import Run
from tests.asgi import DEADLINE, HOST, Answer, ask
from tests.cast import Actor, Cast, LiveRun, fresh, log_of, start
from tests.web.calling import Peer

pytestmark = pytest.mark.django_db(transaction=True)

AGENT = "/agui/intelligence/agent/echo"


async def way(actor: Actor, verb: str = "connect", **body: Any) -> Answer:
    return await ask("POST", f"{AGENT}/{verb}", actor.headers, json={"threadId": "t", **body})


async def opens(token: str) -> tuple[WebsocketCommunicator, bool]:
    url = f"/agui/intelligence/socket/websocket?join_token={token}&vsn=2.0.0"
    socket = WebsocketCommunicator(application, url, headers=[(b"host", HOST.encode())])
    accepted, _ = await socket.connect(DEADLINE)
    return socket, accepted


@asynccontextmanager
async def channel(actor: Actor, **params: Any) -> AsyncIterator[tuple[Peer, Any]]:
    """A socket that has asked to join, and the answer to that."""
    joined = (await way(actor)).json
    socket, accepted = await opens(joined["joinToken"])
    assert accepted
    peer = Peer(socket)
    await peer.send(["1", "1", joined["realtime"]["topic"], "phx_join", params])
    _, _, _, event, answer = await frame(peer)
    assert event == "phx_reply"
    try:
        yield peer, answer
    finally:
        await socket.disconnect(timeout=DEADLINE)


async def frame(peer: Peer) -> list[Any]:
    return list(json.loads(await peer.socket.receive_from(DEADLINE)))


async def events(peer: Peer) -> tuple[list[Any], list[str], Any]:
    """Up to ``stream_idle``: the events, what else came, and the last place."""
    received: list[Any] = []
    notes: list[str] = []
    while True:
        _, _, _, event, payload = await frame(peer)
        if event == "ag_ui_event":
            received.append(payload)
            continue
        notes.append(event)
        if event == "stream_idle":
            return received, notes, payload["latestEventId"]


async def test_a_thread_from_its_snapshots_and_behind_a_cursor(
    cast: Cast, writer: JournalWriter
) -> None:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    await live.say("a", "b")
    joined = (await way(cast.vera)).json
    assert (joined["threadId"], joined["runId"]) == ("t", "r")
    async with channel(cast.vera, stream_mode="connect", last_seen_event_id=None) as (peer, _):
        await live.say("c")
        await live.end()
        received, notes, latest = await events(peer)
    assert notes == ["replay_complete", "stream_idle"]
    assert [each["type"] for each in received[:3]] == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
    ]
    log = await db(log_of, live.run)
    assert [each["type"] for each in received[3:]] == [each["type"] for each in log[3:]]
    assert latest == f"{live.run.pk.hex}:5"
    assert received[-1]["metadata"]["cpki_event_id"] == latest
    cursor = f"{live.run.pk.hex}:2"
    async with channel(cast.vera, stream_mode="connect", last_seen_event_id=cursor) as (peer, _):
        received, _, again = await events(peer)
    assert [each["type"] for each in received] == [each["type"] for each in log[2:]]
    assert again == latest
    async with channel(cast.vera, stream_mode="connect", last_seen_event_id=latest) as (peer, _):
        assert await events(peer) == ([], ["replay_complete", "stream_idle"], latest)


async def test_a_ticket_opens_one_socket_and_stops_only_what_its_owner_may(
    cast: Cast, writer: JournalWriter
) -> None:
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    token = (await way(cast.bob)).json["joinToken"]
    socket, accepted = await opens(token)
    assert accepted
    await socket.disconnect(timeout=DEADLINE)
    for used in (token, "", "forged"):
        assert (await opens(used))[1] is False, "only that makes the client ask again"
    for actor, status in ((cast.vera, "error"), (cast.alice, "ok")):
        async with channel(actor, stream_mode="run", run_id="r") as (peer, _):
            await peer.send(["1", "2", "any", "stop_run", {"run_id": "r"}])
            while (answer := await frame(peer))[3] != "phx_reply":
                pass
            assert answer[4]["status"] == status
    assert (await db(fresh, live.run)).cancel_requested_at is not None


async def test_refusals(cast: Cast, writer: JournalWriter) -> None:
    assert (await way(cast.alice)).status == 204, "a thread without runs"
    live = await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    assert (await way(cast.charlie)).status == 204, "another team's thread"
    assert (await ask("POST", f"{AGENT}/connect", json={"threadId": "t"})).status == 401
    assert (await ask("POST", f"{AGENT}/run", json={"threadId": "t"})).status == 401
    assert (await way(cast.vera, "run", runId="x")).status == 403
    assert (await way(cast.alice, threadId=7)).status == 422
    foreign = await db(start, cast.charlie, threadId="t", runId="r")
    for params, code in (
        ({}, "invalid"),
        ({"stream_mode": "run"}, "invalid"),
        ({"stream_mode": "run", "run_id": "nowhere"}, "not_found"),
        ({"stream_mode": "connect", "last_seen_event_id": "x"}, "bad_cursor"),
        ({"stream_mode": "connect", "last_seen_event_id": f"{live.run.pk.hex}:9"}, "bad_cursor"),
        ({"stream_mode": "connect", "last_seen_event_id": f"{foreign.pk.hex}:0"}, "bad_cursor"),
    ):
        async with channel(cast.bob, **params) as (_, answer):
            assert (answer["status"], answer["response"]["reason"]) == ("error", code), params
    assert await db(Run.objects.count) == 2


async def test_frames_that_are_none(cast: Cast, writer: JournalWriter) -> None:
    await LiveRun.begin(await db(start, cast.alice, threadId="t", runId="r"), writer)
    for text in ("{", "[]", '["1","1","t","phx_join"]', '[1,"1","t","heartbeat",{}]', "x" * 20_000):
        socket, accepted = await opens((await way(cast.bob)).json["joinToken"])
        assert accepted
        await socket.send_to(text_data=text)
        message = await socket.receive_output(DEADLINE)
        assert message["type"] == "websocket.close", text[:20]
        assert message["code"] in (4400, 4413)
    async with channel(cast.bob, stream_mode="run", run_id="r") as (peer, _):
        await peer.send([None, "7", "phoenix", "heartbeat", {}])
        await peer.send(["1", "8", "t", "phx_join", {}])
        await peer.send(["1", "9", "t", "shout", {}])
        replies: dict[str, str] = {}
        while len(replies) < 3:
            got = await frame(peer)
            if got[3] == "phx_reply":
                replies[got[1]] = got[4]["status"]
        assert replies == {"7": "ok", "8": "error", "9": "error"}
