"""The client with the run host: conversations, cursors, questions, cancel, refusals."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from agui_client import AGUIClient, ConnectionLost, Refused, Reset
from agui_client.reading import Transport, follow, socket_address
from tests.acceptance.host import Host, free_port

Script = list[dict[str, Any]]


def scripted(host: Host, transport: Transport = "sse", **options: Any) -> AGUIClient:
    url = f"{host.url}/agui/agent/scripted/run"
    return AGUIClient(url, api_key=host.key, transport=transport, **options)


async def play(client: AGUIClient, *script: dict[str, Any]) -> list[dict[str, Any]]:
    run = client.run("go", forwardedProps={"script": list(script)})
    return [event async for event in run]


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_a_conversation(host: Host, transport: Transport) -> None:
    async with AGUIClient(
        f"{host.url}/agui/agent/slow/run", api_key=host.key, transport=transport
    ) as client:
        quick = {"steps": 2, "seconds": 0}
        kinds = [event["type"] async for event in client.run("go", forwardedProps=quick)]
        assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    async with scripted(host, transport) as client:
        events = await play(client, {"text": "a"}, {"text": "b"})
        deltas = [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
        assert deltas == ["a", "b"]
        assert client._talk.answer == "a\n\nb"
        again = [event["type"] async for event in client.connect("scripted")]
        assert again[0] == "RUN_STARTED"
        assert "MESSAGES_SNAPSHOT" in again
        assert [message["content"] for message in client._talk.messages] == ["go", "a", "b"]


@pytest.mark.parametrize("transport", ["sse", "websocket"])
async def test_a_question_is_answered(host: Host, transport: Transport) -> None:
    url = f"{host.url}/agui/agent/approval/run"
    async with AGUIClient(url, api_key=host.key, transport=transport) as client:
        await client.send("Pay 5 euros to Bob")
        (question,) = client.interrupts
        answer = await client.resume({question["id"]: {"approved": True}})
        assert answer
        assert client.interrupts == []


async def test_another_client_joins_while_the_run_is_live(host: Host) -> None:
    async with scripted(host) as first:
        script: Script = [{"text": "one"}, {"forever": 1}]
        async for event in first.run("go", forwardedProps={"script": script}):
            if event["type"] == "TEXT_MESSAGE_END":
                break
        second = scripted(host, thread_id=first.thread_id)
        async with second:
            events = []
            async for event in second.connect("scripted"):
                events.append(event["type"])
                if event["type"] == "MESSAGES_SNAPSHOT":
                    assert await first.cancel()
        assert events[-1] == "RUN_FINISHED"


async def test_the_error_of_a_run_is_its_last_event(host: Host) -> None:
    async with scripted(host) as client:
        events = await play(client, {"text": "so far"}, {"raise": "secret"})
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "agent_error")


async def test_refusals_are_final(host: Host) -> None:
    async with AGUIClient(f"{host.url}/agui", api_key="wrong" * 8) as client:
        with pytest.raises(Refused) as refused:
            await client.send("hi")
        assert (refused.value.status, refused.value.code) == (401, "unauthenticated")
    async with AGUIClient(f"{host.url}/agui/agent/nobody/run", api_key=host.key) as client:
        with pytest.raises(Refused, match="404 unknown_agent"):
            await client.send("hi")
    run = host.begin(script=[{"text": "x"}])
    url = f"{host.url}/api/v1/runs/{run['id']}/events"
    async with httpx.AsyncClient(headers={"Authorization": "Bearer no"}) as http:
        with pytest.raises(Refused, match="4401"):
            async for _ in follow(http, url, 0, transport="websocket", timeout=30):
                pass


async def test_nobody_there() -> None:
    async with AGUIClient(f"http://127.0.0.1:{free_port()}", timeout=0.3) as client:
        with pytest.raises(ConnectionLost):
            await client.send("hi")


class Twice(httpx.AsyncBaseTransport):
    """A bad network: cuts every answer after a few frames, and says the last ones again.

    From the 20th event on the host's database is in its second epoch.
    """

    def __init__(self, events: int) -> None:
        self.events = events
        self.positions: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.positions.append(request.headers["last-event-id"])
        after = int(self.positions[-1].rpartition("-")[2])
        assert self.positions[-1] == self.cursor(after)
        first = max(1, after - 2)
        seqs = range(first, min(first + 7, self.events + 1))
        if len(self.positions) % 3 == 0:
            seqs = range(after + 2, after + 4)  # a hole
        return httpx.Response(200, stream=Bytes(map(self.frame, seqs)))

    def cursor(self, seq: int) -> str:
        return f"2-{seq}" if seq >= 20 else str(seq)

    def frame(self, seq: int) -> bytes:
        kind = "RUN_FINISHED" if seq == self.events else "CUSTOM"
        event = json.dumps({"type": kind, "seq": seq})
        return f"id: {self.cursor(seq)}\ndata: {event}\n\n".encode()


class Bytes(httpx.AsyncByteStream):
    def __init__(self, parts: Any) -> None:
        self.parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            yield part
        raise httpx.ReadError("cut")


async def test_what_is_repeated_is_dropped_and_holes_are_filled() -> None:
    network = Twice(40)
    async with httpx.AsyncClient(transport=network) as http:
        url = "http://host/api/v1/runs/1/events"
        reading = follow(http, url, 0, transport="sse", timeout=30)
        pairs = [(seq, event["seq"]) async for seq, event in reading]
    assert pairs == [(n, n) for n in range(1, 41)]
    assert len(network.positions) > 8


class Restored(Twice):
    """A host that is restored from a backup in silence once it has been read."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.positions:
            error = {"code": "bad_cursor", "message": "", "details": {"head": 2}}
            return httpx.Response(400, json={"error": error})
        return await super().handle_async_request(request)


async def test_a_cursor_of_the_host_that_it_refuses_was_lost() -> None:
    network = Restored(40)
    async with httpx.AsyncClient(transport=network) as http:
        url = "http://host/api/v1/runs/1/events"
        with pytest.raises(Reset):
            async for _ in follow(http, url, 0, transport="sse", timeout=30):
                pass
        with pytest.raises(Refused) as refused:
            await anext(follow(http, url, 9, transport="sse", timeout=30))
        assert refused.value.code == "bad_cursor", "that number is the program's own"


def test_the_socket_is_beside_the_events() -> None:
    url = "https://host:8443/api/v1/runs/0190/events"
    assert socket_address(url) == "wss://host:8443/ws/runs/0190/"
