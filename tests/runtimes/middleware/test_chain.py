"""The chain: checked when an agent is saved, run in order, closed from the outside in."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from agui_host import RunContext
from agui_host.runtimes.middleware import table
from agui_host.runtimes.middleware.base import Middleware, Options, Wire
from agui_host.runtimes.middleware.chain import parse
from agui_host.runtimes.middleware.citing.remote import HttpOptions
from agui_host.runtimes.middleware.citing.verifiers import LocalOptions
from agui_host.runtimes.middleware.inlet import ROOM
from agui_host.runtimes.options import BadOptions
from tests.house.repository import ROOT
from tests.runtimes.middleware.passing import (
    chain_of,
    custom,
    passed,
    stream_of,
    text,
    until_it_breaks,
)


class Tag(Middleware):
    """Notes who saw an event, and what was done to itself."""

    order: list[str] = []
    name = "tag"

    def feed(self, event: Wire) -> Any:
        return ({**event, "value": f"{event['value']}{self.name}"},)

    def rest(self) -> Any:
        return (custom(f"end of {self.name} "),)

    async def stream(self, events: AsyncIterator[Wire]) -> AsyncGenerator[Wire, None]:
        try:
            async for event in super().stream(events):
                yield event
        finally:
            self.order.append(self.name)


class One(Tag):
    name = "1"


class Two(Tag):
    name = "2"


@pytest.fixture(autouse=True)
def tags(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(
        "agui_host.runtimes.middleware.chain.MIDDLEWARE",
        {**table.MIDDLEWARE, "one": One, "two": Two},
    )
    monkeypatch.setattr(Tag, "order", [])
    return Tag.order


def values(events: list[Wire]) -> list[str]:
    return [event["value"] for event in events]


async def test_the_first_one_is_next_to_the_agent() -> None:
    passed_on = await passed(chain_of({"name": "one"}, {"name": "two"}), custom("a"), custom("b"))
    assert values(passed_on) == ["a12", "b12", "end of 1 2", "end of 2 "]


async def test_what_is_left_passes_the_later_ones() -> None:
    chain = chain_of({"name": "one"}, {"name": "two"})
    assert values(chain.rest()) == ["end of 1 2", "end of 2 "]


async def test_closing_closes_each_and_then_the_agent(tags: list[str]) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        try:
            yield custom("a")
            await asyncio.Event().wait()
        finally:
            tags.append("agent")

    chain = chain_of({"name": "one"}, {"name": "throttle"}, {"name": "two"})
    async with aclosing(chain.stream(agent())) as stream:
        assert (await anext(stream))["value"] == "a12"
    assert sorted(tags) == ["1", "2", "agent"]
    assert tags[0] == "2"


async def test_a_cancel_reaches_the_agent_through_a_middleware_with_a_task(
    tags: list[str],
) -> None:
    began = asyncio.Event()

    async def agent() -> AsyncGenerator[Wire, None]:
        try:
            began.set()
            await asyncio.Event().wait()
            yield custom()
        except asyncio.CancelledError:
            tags.append("cancelled")
            raise

    async def read() -> None:
        chain = chain_of({"name": "throttle"}, {"name": "one"}, {"name": "throttle"})
        async with aclosing(chain.stream(agent())) as stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(read())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert tags == ["cancelled", "1"]


@pytest.mark.parametrize("name", ["throttle", "log"])
async def test_an_exception_of_the_agent_passes_behind_its_events(name: str) -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        yield text("a")
        yield custom()
        yield text("b")
        raise RuntimeError("broken")

    chain = chain_of({"name": name} | ({"ms": 10_000} if name == "throttle" else {}))
    assert await until_it_breaks(chain, agent()) == [text("a"), custom(), text("b")]
    assert chain.rest() == []


async def test_a_slow_reader_slows_the_agent() -> None:
    made = 0

    async def agent() -> AsyncGenerator[Wire, None]:
        nonlocal made
        while True:
            made += 1
            yield custom(made)

    chain = chain_of({"name": "throttle"}, {"name": "log"}, {"name": "throttle"})
    async with aclosing(chain.stream(agent())) as stream:
        await anext(stream)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert made <= 2 * ROOM + 4


async def test_an_empty_stream() -> None:
    chain = chain_of({"name": "throttle"}, {"name": "log"})
    async with aclosing(chain.stream(stream_of())) as stream:
        assert [event async for event in stream] == []


BAD: list[tuple[Any, str]] = [
    ({}, "must be a list"),
    ("log", "must be a list"),
    ([{}], r'middleware\[0\] needs a "name", one of: .*log, one, redact, throttle'),
    (["log"], r"middleware\[0\] needs"),
    ([{"name": "log"}, {"name": "lag"}], r"middleware\[1\] needs"),
    ([{"name": ["log"]}], "needs"),
    ([{"name": "throttle", "mss": 5}], r"middleware\[0\] \(throttle\): unknown option 'mss'"),
    ([{"name": "throttle", "ms": "soon"}], r"ms: .*integer"),
    ([{"name": "throttle", "ms": 0}], r"ms: .*greater than or equal to 1"),
    ([{"name": "log", "level": "loud"}], r"level: "),
    ([{"name": "redact"}], "name at least one pattern or key"),
    ([{"name": "redact", "patterns": ["("]}], "not a regular expression"),
    ([{"name": "log"}] * 21, "at most 20"),
]


@pytest.mark.parametrize(("entries", "problem"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_run_is_refused_by_name(entries: Any, problem: str) -> None:
    with pytest.raises(BadOptions, match=problem):
        parse(entries)


def test_every_middleware_is_documented() -> None:
    guide = (ROOT / "docs" / "howto-middleware.md").read_text()
    options: list[type[Options]] = [LocalOptions, HttpOptions]
    for name, kind in table.MIDDLEWARE.items():
        assert f"`{name}`" in guide
        options.append(kind.Options)
    for each in options:
        for option in each.model_fields.keys() - {"kind", "url"}:
            assert f"`{option}`" in guide, (each, option)


def test_a_context_is_all_it_takes() -> None:
    assert chain_of(ctx=RunContext({})).rest() == []
