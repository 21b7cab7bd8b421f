"""Attacks by connections and batches: what is opened and kept, fed, refused, or never answered."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.soak.attacker import Attacker, Round

LATER = 3.0
"""Seconds for which an attacker holds a connection open."""
SILENT_HOOKS = 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""What a client of HTTP/2 sends that asks for no upgrade, and an empty frame of settings."""
SHIFTS = [{"op": "add", "path": "/a/0", "value": 0}, {"op": "remove", "path": "/a/0"}] * 124


async def silent_connections(attacker: Attacker) -> Any:
    """Connections that send nothing."""
    address = urlsplit(attacker.url)

    async def stay() -> int:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(address.hostname, address.port)
            await asyncio.sleep(LATER)
            writer.close()
            return 1
        return 0

    return f"{sum(await asyncio.gather(*(stay() for _ in range(500))))} open"


async def http2(attacker: Attacker) -> Any:
    """HTTP/2 by prior knowledge, with a long block of headers."""
    address = urlsplit(attacker.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(PREFACE)
        for _ in range(8):
            writer.write((16_000).to_bytes(3) + b"\x01\x00\x00\x00\x00\x01" + b"\xbe" * 16_000)
            await writer.drain()
        async with asyncio.timeout(LATER):
            return (await reader.read(100)).decode(errors="replace")[9:12] or "hung up"
    except TimeoutError:
        return "silence"
    finally:
        writer.close()


async def fed_patches(attacker: Attacker) -> Any:
    """Batches of a producer whose patches shift a long array; some are refused."""
    opened = await attacker.client.post("/api/v1/runs", json={"agent": "fed", "input": {}})
    if opened.status_code != 202:
        return opened.status_code
    address = f"/api/v1/runs/{opened.json()['id']}/stream"
    batches: list[Any] = [
        [{"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * 100_000}}],
        *[[{"type": "STATE_DELTA", "delta": SHIFTS}] * 30] * 3,
        [{"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/none"}]}],
    ]
    answers = []
    for number, batch in enumerate(batches):
        place = {"Producer-Id": "p", "Producer-Epoch": "0", "Producer-Seq": str(number)}
        content = json.dumps(batch)
        answer = await attacker.client.post(address, content=content, headers=place)
        answers.append(answer.status_code)
    return " ".join(map(str, answers))


async def starts_elsewhere(attacker: Attacker) -> Any:
    """Starts by the addresses that other programs use."""
    text = f"x{uuid.uuid4()}"
    message = {"id": text, "role": "user", "content": text}
    starts = {
        "/agents/scripted/ai-sdk": {"id": text, "messages": [{**message, "parts": []}]},
        "/v1/chat/completions": {"model": "scripted", "messages": [message]},
        "/v1/responses": {"model": "scripted", "input": text},
        "/agui": {"threadId": text, "messages": [message]},
    }
    answers = [await attacker.client.post(path, json=body) for path, body in starts.items()]
    return " ".join(str(answer.status_code) for answer in answers)


async def absurd_numbers(attacker: Attacker) -> Any:
    """Numbers of thousands of digits wherever a number is read."""
    digits = "9" * 5_000
    paths = (f"/api/v1/runs?limit={digits}", f"/a2a/tasks?pageSize={digits}", "/mcp?x=%00")
    answers = [await attacker.client.get(path) for path in paths]
    return " ".join(str(answer.status_code) for answer in answers)


@asynccontextmanager
async def owed(attacker: Attacker) -> AsyncIterator[None]:
    """The attacker's team has webhooks whose receiver takes each call and answers none."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while await reader.read(65_536):
                pass
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for number in range(SILENT_HOOKS):
            body = {"url": f"{url}{number}", "events": ["run.succeeded"]}
            answer = await attacker.client.post("/api/v1/webhooks", json=body)
            attacker.count("silent webhooks", answer.status_code)
        answer = await attacker.client.post(
            "/api/v1/agents", json={"slug": "fed", "kind": "external"}
        )
        assert answer.status_code in (201, 409), answer.text
        yield


async def silent_webhooks(attacker: Attacker) -> Any:
    """Short runs, each of which the silent receivers are owed calls for."""
    with suppress(httpx.TimeoutException):
        return (await attacker.play({"text": "x"})).status_code


ATTACKS: dict[str, tuple[Round, int]] = {
    "silent connections": (silent_connections, 2),
    "HTTP/2 by prior knowledge": (http2, 2),
    "patches of a producer": (fed_patches, 2),
    "starts elsewhere": (starts_elsewhere, 4),
    "absurd numbers": (absurd_numbers, 2),
    "silent webhooks": (silent_webhooks, 1),
}
