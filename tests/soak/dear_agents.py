"""A remote agent whose events are small or few, and dear: an attack for each kind of event."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from tests.soak.attacker import Attacker, Round

MOST = 9_000_000
"""Bytes of one event, below what the host refuses at once."""
VALUES = 290_000
"""JSON values of one event, likewise."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
Event = dict[str, Any]


def _copies() -> Iterator[Event]:
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * VALUES, "b": 0}}
    for _ in range(600):
        yield {"type": "STATE_DELTA", "delta": [{"op": "copy", "from": "/a", "path": "/b"}]}


def _shifts() -> Iterator[Event]:
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * 100_000}}
    pair = [{"op": "add", "path": "/a/0", "value": 0}, {"op": "remove", "path": "/a/0"}]
    for _ in range(200):
        yield {"type": "STATE_DELTA", "delta": pair * 124}


def _snapshots(snapshot: Any) -> Callable[[], Iterator[Event]]:
    return lambda: iter([{"type": "STATE_SNAPSHOT", "snapshot": snapshot}] * 5)


def _activities() -> Iterator[Event]:
    for number in range(20):
        yield {
            "type": "ACTIVITY_SNAPSHOT", "messageId": f"a{number}", "activityType": "PLAN",
            "content": {"steps": [{"n": n} for n in range(20_000)]},
        }  # fmt: skip


def _messages() -> Iterator[Event]:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    yield {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": f"m{n}", "role": "assistant", "toolCalls": [{**call, "id": f"c{n}"}]}
            for n in range(10_000)
        ],
    }  # fmt: skip


def _texts() -> Iterator[Event]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    for _ in range(5):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": '{"é": 1}' * 400_000}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def _deltas() -> Iterator[Event]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    for _ in range(30_000):
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}


def _calls() -> Iterator[Event]:
    for number in range(2_000):
        call = f"c{number}"
        yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "f"}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": '{"a": 1}'}
        yield {"type": "TOOL_CALL_END", "toolCallId": call}


def _open_parts() -> Iterator[Event]:
    for number in range(20_000):
        yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m{number}", "delta": "x"}


def _customs() -> Iterator[Event]:
    for _ in range(5):
        yield {"type": "CUSTOM", "name": "x", "value": [{"k": n} for n in range(VALUES // 4)]}
        yield {"type": "RAW", "event": {"x": [[]] * (VALUES // 3)}}


def _result() -> Iterator[Event]:
    yield {"type": "RUN_FINISHED", "result": [{"k": n} for n in range(VALUES // 4)]}


def _questions() -> Iterator[Event]:
    interrupts = [
        {"id": f"i{n}", "reason": "x", "responseSchema": {"type": "object", "enum": [n] * 500}}
        for n in range(100)
    ]
    outcome = {"type": "interrupt", "interrupts": interrupts}
    yield {"type": "RUN_FINISHED", "outcome": outcome}


SCRIPTS: dict[str, Callable[[], Iterator[Event]]] = {
    "copies": _copies,
    "shifts": _shifts,
    "arrays": _snapshots([[]] * (VALUES // 3)),
    "members": _snapshots({f"key {n}": n for n in range(VALUES // 2)}),
    "text-state": _snapshots({"t": "é\\\n" * (MOST // 12)}),
    "activities": _activities,
    "messages": _messages,
    "texts": _texts,
    "deltas": _deltas,
    "calls": _calls,
    "open-parts": _open_parts,
    "customs": _customs,
    "result": _result,
    "questions": _questions,
}


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The agents at ``URL/NAME``, one for each script."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readuntil(b"\r\n")).decode()
            writer.write(HEAD)
            for event in SCRIPTS[line.split(" ")[1].removeprefix("/")]():
                writer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                await writer.drain()
            writer.write(b'data: {"type": "RUN_FINISHED"}\n\n')
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**24)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def register(attacker: Attacker, url: str) -> None:
    """Make the agents known to the attacker's team."""
    for name in SCRIPTS:
        body = {"slug": f"dear-{name}", "name": name, "url": f"{url}/{name}"}
        answer = await attacker.client.post("/api/v1/agents", json=body)
        assert answer.status_code in (201, 409), answer.text


def _round(name: str) -> Round:
    async def play(attacker: Attacker) -> Any:
        answer = await attacker.begin(f"dear-{name}", {})
        if answer.status_code != 202:
            return answer.status_code
        run = answer.json()["id"]
        await attacker.ended(run)
        row = (await attacker.client.get(f"/api/v1/runs/{run}")).json()
        return row["status"] if row["error"] is None else row["error"]["code"]

    return play


ATTACKS: dict[str, tuple[Round, int]] = {f"agent: {name}": (_round(name), 1) for name in SCRIPTS}
