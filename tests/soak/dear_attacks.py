"""Attacks that are small and dear: few bytes or events that cost the host much work or memory."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import httpx
import websockets

from tests.soak.attacker import Attacker, Round

LATER = 3.0
"""Seconds for which an attacker holds a connection open."""


async def _played(attacker: Attacker, *script: dict[str, Any]) -> Any:
    answer = await attacker.play(*script)
    if answer.status_code == 202:
        await attacker.ended(answer.json()["id"])
    return answer.status_code


async def large_results(attacker: Attacker) -> Any:
    """Lists of runs whose results have megabytes."""
    await _played(attacker, {"result": "r" * 900_000})
    lists = ("/api/v1/runs", "/a2a/tasks?pageSize=100", "/api/v1/interrupts")
    answers = [await attacker.client.get(path) for path in lists]
    return " ".join(str(answer.status_code) for answer in answers)


async def large_frames(attacker: Attacker) -> Any:
    """Frames of half a megabyte of integers on the host socket."""
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1] * 200_000})
    url = attacker.url.replace("http", "ws", 1) + "/ws/"
    headers = {"Authorization": attacker.client.headers["Authorization"]}
    try:
        async with websockets.connect(url, additional_headers=headers) as socket:
            for _ in range(10):
                await socket.send(frame)
            return "answered" if await asyncio.wait_for(socket.recv(), LATER) else ""
    except (websockets.WebSocketException, TimeoutError, OSError) as error:
        return type(error).__name__


async def large_bodies(attacker: Attacker) -> Any:
    """Bodies of many values to each wire format."""
    values = json.dumps([1] * 290_000)
    paths = (
        "/agui", "/v1/responses", "/v1/chat/completions", "/v1/conversations", "/mcp",
        "/a2a/scripted/message:send", "/agents/scripted/ai-sdk", "/api/v1/runs", "/agents/run",
    )  # fmt: skip
    content = f'{{"messages": [], "input": {values}, "params": {values}}}'
    answers = await asyncio.gather(*(attacker.client.post(path, content=content) for path in paths))
    return " ".join(str(answer.status_code) for answer in answers)


async def idle_subscriptions(attacker: Attacker) -> Any:
    """Sockets that subscribe to a thread and then wait."""
    run = await attacker.play({"text": "x"})
    if run.status_code != 202:
        return run.status_code
    call = {"jsonrpc": "2.0", "id": 1, "method": "thread.subscribe"}
    frame = json.dumps(call | {"params": {"thread_id": run.json()["thread_id"]}})
    url = attacker.url.replace("http", "ws", 1) + "/ws/"
    headers = {"Authorization": attacker.client.headers["Authorization"]}

    async def idle() -> str:
        try:
            async with websockets.connect(url, additional_headers=headers) as socket:
                await socket.send(frame)
                await socket.recv()
                await asyncio.sleep(LATER)
                return "open"
        except (websockets.WebSocketException, OSError) as error:
            return type(error).__name__

    states = await asyncio.gather(*(idle() for _ in range(100)))
    return f"{states.count('open')} open"


async def empty_parts(attacker: Attacker) -> Any:
    """A multipart upload of empty parts that does not end by itself."""

    async def parts() -> Any:
        part = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1_000
        for _ in range(2_000):
            yield part
            await asyncio.sleep(0.005)

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = await attacker.client.post("/api/v1/files", content=parts(), headers=headers)
    return answer.status_code


async def large_cookies(attacker: Attacker) -> Any:
    """A cookie of separators."""
    async with httpx.AsyncClient(base_url=attacker.url, timeout=30) as stranger:
        return (await stranger.get("/health", headers={"Cookie": ";" * 380_000})).status_code


async def unread_joins(attacker: Attacker) -> Any:
    """Readers that join a run with a long message, and read nothing."""
    run = await attacker.play({"text": "m" * 900_000}, {"sleep": 20})
    if run.status_code != 202:
        return run.status_code
    address = urlsplit(attacker.url)
    key = attacker.client.headers["Authorization"]
    head = (
        f"GET /api/v1/runs/{run.json()['id']}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Accept: text/event-stream\r\nAuthorization: {key}\r\n\r\n"
    ).encode()

    async def join() -> None:
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(head)
            await writer.drain()
            await asyncio.sleep(LATER)
        finally:
            writer.close()

    await asyncio.gather(*(join() for _ in range(40)))
    return "all left"


async def replays_of_links(attacker: Attacker) -> Any:
    """Visitors of a link who read a long log from its beginning, in views that are made anew."""
    run = await attacker.play({"text": "d", "n": 5_000})
    if run.status_code != 202:
        return run.status_code
    grant = await attacker.client.post("/api/v1/grants", json={"run": run.json()["id"]})
    if grant.status_code != 201:
        return grant.status_code
    token = urlsplit(grant.json()["url"]).path.split("/shared/")[1].strip("/")
    path = f"/shared/{token}/runs/{run.json()['id']}/events"
    headers = {"Accept": "text/event-stream"}

    async def read(query: str) -> int:
        async with httpx.AsyncClient(base_url=attacker.url, timeout=30) as stranger:
            return (await stranger.get(path + query, headers=headers)).status_code

    answers = await asyncio.gather(
        *(read(f"?after=0{view}") for view in ("", "&protocol=0.0.40") * 10)
    )
    return " ".join(map(str, sorted(set(answers))))


async def strangers(attacker: Attacker) -> Any:
    """Requests without credentials: they are no reason for other teams to wait."""
    async with httpx.AsyncClient(base_url=attacker.url, timeout=30) as stranger:
        answers = [await stranger.get("/api/v1/runs") for _ in range(20)]
        answers.append(await stranger.get(f"/api/v1/runs?wait={'9' * 5_000}"))
    return " ".join(sorted({str(answer.status_code) for answer in answers}))


async def searches(attacker: Attacker) -> Any:
    """Searches for hundreds of characters without spaces."""
    text = "".join(chr(0x4E00 + n) for n in range(500))
    return (await attacker.client.get("/api/v1/runs", params={"q": text})).status_code


ATTACKS: dict[str, tuple[Round, int]] = {
    "large results": (large_results, 2),
    "large frames": (large_frames, 4),
    "large bodies": (large_bodies, 2),
    "idle subscriptions": (idle_subscriptions, 1),
    "empty parts": (empty_parts, 4),
    "large cookies": (large_cookies, 4),
    "unread joins": (unread_joins, 1),
    "replays of links": (replays_of_links, 1),
    "strangers": (strangers, 2),
    "searches": (searches, 2),
}
