"""Events sent through a chain, as the executor does it."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from typing import Any

from agui_host import RunContext
from agui_host.runtimes.middleware.chain import Chain

Wire = dict[str, Any]


def text(delta: str, message: str = "m", **more: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta, **more}


def args(delta: str, call: str = "c") -> Wire:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": delta}


def custom(value: Any = 1) -> Wire:
    return {"type": "CUSTOM", "name": "n", "value": value}


def text_message(message: str = "m", *deltas: str) -> list[Wire]:
    """A whole message."""
    begin = {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
    end = {"type": "TEXT_MESSAGE_END", "messageId": message}
    return [begin, *(text(delta, message) for delta in deltas), end]


def chain_of(*entries: Wire, ctx: RunContext | None = None, **body: Any) -> Chain:
    return Chain(list(entries), ctx or RunContext({"threadId": "t", "runId": "r", **body}))


async def stream_of(*events: Wire) -> AsyncGenerator[Wire, None]:
    """Copies of the events, since middleware may change what it gets."""
    for event in events:
        yield dict(event)


async def passed(chain: Chain, *events: Wire) -> list[Wire]:
    """What comes out of a stream that ends by itself."""
    async with aclosing(chain.stream(stream_of(*events))) as stream:
        return [event async for event in stream]


async def first(stream: AsyncIterable[Wire], n: int = 1) -> list[Wire]:
    """The first events, and the stream stays open."""
    events = []
    async for event in stream:
        events.append(event)
        if len(events) == n:
            break
    return events


def types(events: list[Wire]) -> list[str]:
    return [event["type"] for event in events]


async def until_it_breaks(chain: Chain, events: AsyncGenerator[Wire, None]) -> list[Wire]:
    """What comes out of a stream that raises RuntimeError, and what is said after it."""
    passed_on: list[Wire] = []
    try:
        async with aclosing(chain.stream(events)) as stream:
            async for event in stream:
                passed_on.append(event)
    except RuntimeError:
        return [*passed_on, *chain.rest()]
    raise AssertionError("the stream did not raise")
