"""The ``scripted`` agent of tests and benchmarks: plays ``forwardedProps.script``.

A client whose wire has no room for those sends the script as its message, in JSON. An agent whose
settings have a ``script`` always plays that.

Registered only with ``AGUI_SCRIPTED_AGENT=1``, since it plays any script of a client.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from django.conf import settings

from agui_host.runtimes import RunContext, agent
from agui_host.runtimes.context.spans import new_id


async def texts(op: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """One message: ``text``, or ``n`` deltas "<time.time()> <index> <text><pad>" at ``rate``/s."""
    message_id = new_id()
    yield {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"}
    kind = {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id}
    n, rate, text = op.get("n"), op.get("rate", 0), op["text"]
    if n is None:
        yield {**kind, "delta": text}
    tail = f" {text}{'x' * op.get('pad', 0)}".rstrip()
    now, began = time.time, time.time()
    for i in range(n or 0):
        # Measured from the beginning, so that a late event does not delay the next.
        if rate and (early := began + (i + 1) / rate - now()) > 0:
            await asyncio.sleep(early)
        yield {
            "type": "TEXT_MESSAGE_CONTENT",
            "messageId": message_id,
            "delta": f"{now():.6f} {i}{tail}",
        }
    yield {"type": "TEXT_MESSAGE_END", "messageId": message_id}


def _cycle() -> dict[str, Any]:
    event: dict[str, Any] = {"type": "CUSTOM", "name": "cycle"}
    event["value"] = event
    return event


def _deep() -> dict[str, Any]:
    value: Any = 0
    for _ in range(1_000):
        value = [value]
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


RUBBISH: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 7,
    "bytes": lambda: b"{}",
    "object": object,
    "no_type": lambda: {"delta": "x"},
    "unknown_type": lambda: {"type": "NO_SUCH_EVENT"},
    "missing_field": lambda: {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"},
    "wrong_type": lambda: {"type": "TEXT_MESSAGE_START", "messageId": ["7"]},
    "nan": lambda: {"type": "STATE_SNAPSHOT", "snapshot": float("nan")},
    "nul": lambda: {"type": "CUSTOM", "name": "nul", "value": "a\x00b"},
    "surrogate": lambda: {"type": "CUSTOM", "name": "surrogate", "value": "\ud800"},
    "unencodable": lambda: {"type": "CUSTOM", "name": "set", "value": {1, 2}},
    "cycle": _cycle,
    "deep": _deep,
    "huge": lambda: {"type": "CUSTOM", "name": "huge", "value": "x" * (11 * 1024 * 1024)},
    "order": lambda: {"type": "TEXT_MESSAGE_END", "messageId": "never opened"},
}


async def scripted(ctx: RunContext) -> AsyncIterator[Any]:
    """Play each operation in turn; one without a known key is an error."""
    for op in script_of(ctx):
        if "text" in op:
            async for event in texts(op):
                yield event
        elif "emit" in op:
            yield op["emit"]
        elif "rubbish" in op:
            yield RUBBISH[op["rubbish"]]()
        else:
            await act(ctx, op)


def script_of(ctx: RunContext) -> list[dict[str, Any]]:
    """The operations of the agent's settings, else of a request, which can have none."""
    if "script" in ctx.settings:
        return list(ctx.settings["script"])
    if ctx.forwarded_props or not ctx.text.startswith("[{"):
        return list(ctx.forwarded_props.get("script", []))
    return list(json.loads(ctx.text))


async def act(ctx: RunContext, op: dict[str, Any]) -> None:
    """The operations that yield nothing themselves."""
    match op:
        case {"sleep": seconds}:
            await asyncio.sleep(seconds)
        case {"block": seconds}:
            time.sleep(seconds)
        case {"raise": message}:
            raise RuntimeError(message)
        case {"exit": status}:
            raise SystemExit(status)
        case {"until": path}:
            while not os.path.exists(path):
                await asyncio.sleep(0.01)
        case {"forever": _}:
            await asyncio.Event().wait()
        case {"swallow_cancel": seconds}:
            await swallow_cancel(seconds)
        case {"flood": n}:
            for i in range(n):
                ctx.custom("flood", i)
        case {"state": values}:
            ctx.state.update(values)
        case {"interrupt": fields}:
            ctx.interrupt(**fields)
        case {"result": value}:
            ctx.result = value
        case {"usage": counts}:
            ctx.usage(**counts)
        case _:
            raise ValueError(f"no such operation: {sorted(op)}")


async def swallow_cancel(seconds: float) -> None:
    """Sleep, ignoring every cancel."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


if settings.AGUI_SCRIPTED_AGENT:
    agent("scripted", description="Plays the script that a client sends.", hidden=True)(scripted)
