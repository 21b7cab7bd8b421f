"""Sockets that say in words of their own why they close: TanStack AI's and CopilotKit's."""

import asyncio
from uuid import uuid4

import pytest

from events.writer import JournalWriter
from tests.asgi import DEADLINE
from tests.cast import Cast, LiveRun
from tests.dialects.copilotkit.test_intelligence import channel, frame
from tests.web.calling import Peer, calling
from tests.web.resets.rewinding import ALL, rewind, started
from tests.web.resets.shapes import RESET, Json, run_error, summary

pytestmark = pytest.mark.django_db(transaction=True)


async def last_of(peer: Peer) -> tuple[Json, int]:
    """The last frame before the close, and the code of that."""
    code = await peer.closed()
    return peer.notes[-1], code


async def test_a_conversation_of_tanstack(cast: Cast, writer: JournalWriter) -> None:
    url = "/agui/agent/echo/ws"
    async with calling(cast.alice.headers, url=url) as peer:
        await peer.send({"threadId": "t", "runId": "r", "messages": []})
        live = await started(writer)
        async with calling(cast.alice.headers, url=f"{url}?runId=r&offset=-1") as other:
            await rewind(live, readers=2)
            last, code = await last_of(other)
            assert (run_error(last), code) == (RESET, 4411)
        while (last := await peer.next()).get("type") in (None, "ping"):
            pass
        assert run_error(last) == RESET
    async with calling(cast.alice.headers, url=f"{url}?runId=r&offset=4") as late:
        assert await late.closed() == 4411


async def test_a_channel_of_copilotkit(cast: Cast, live: LiveRun) -> None:
    params: Json = {"stream_mode": "connect", "last_seen_event_id": None}
    async with channel(cast.alice, **params) as (peer, _):
        await rewind(live)
        notes = []
        async with asyncio.timeout(DEADLINE):
            while not notes or notes[-1][3] != "replay_failed":
                notes.append(await frame(peer))
        assert notes[-1][4] == RESET
        event = (await frame(peer))[4]
        assert run_error(event) == RESET
        assert "cpki_event_id" not in event["metadata"], "nothing to resume behind"
        assert await peer.closed() == 4411
    params["last_seen_event_id"] = f"{live.run.pk.hex}:{ALL}"
    async with channel(cast.alice, **params) as (_, answer):
        assert answer["status"] == "error"
        refusal = answer["response"]
        assert summary({"code": refusal["reason"]}, **refusal) == RESET
    # Of a run that the database lost with all of its log.
    params["last_seen_event_id"] = f"{uuid4().hex}:{ALL}"
    async with channel(cast.alice, **params) as (_, answer):
        refusal = answer["response"]
        assert (refusal["reason"], refusal["head"]) == ("reset", 0)
