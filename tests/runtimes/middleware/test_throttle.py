"""``throttle``: fewer deltas, the same text, the same order."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from agui_host.runtimes.middleware import throttle
from tests.runtimes.middleware.passing import (
    Wire,
    args,
    chain_of,
    custom,
    passed,
    text,
    text_message,
)

LONG = {"name": "throttle", "ms": 10_000}


async def test_deltas_of_one_message_become_one() -> None:
    begin, *deltas, end = text_message("m", "a", "b", "c")
    assert await passed(chain_of(LONG), begin, *deltas, end) == [begin, text("abc"), end]


async def test_anything_else_goes_out_behind_what_is_held() -> None:
    events = [text("a"), text("b"), custom(), text("c"), text("d", "n"), args("{"), args("}")]
    events_out = await passed(chain_of(LONG), *events)
    assert events_out == [text("ab"), custom(), text("c"), text("d", "n"), args("{}")]


async def test_a_delta_that_says_more_than_text_stays_alone() -> None:
    rich = text("b", metadata={"k": 1})
    events_out = await passed(chain_of(LONG), text("a"), rich, text("c", timestamp=5), text("d"))
    assert events_out == [text("a"), rich, text("cd", timestamp=5)]


async def test_the_time_is_up_while_the_agent_is_silent() -> None:
    async def agent() -> AsyncGenerator[Wire, None]:
        yield text("a")
        yield text("b")
        await asyncio.Event().wait()

    chain = chain_of({"name": "throttle", "ms": 20})
    async with aclosing(chain.stream(agent())) as stream:
        assert await asyncio.wait_for(anext(stream), 10) == text("ab")


async def test_a_flood_does_not_wait_for_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "LARGEST", 10)
    events_out = await passed(chain_of(LONG), *[text("abc")] * 9)
    assert [event["delta"] for event in events_out] == ["abc" * 4, "abc" * 4, "abc"]


@drawn(st.lists(st.sampled_from([text("a"), text("b", "n"), args("x"), custom()])))
def test_the_order_and_the_text_stay(events: list[Wire]) -> None:
    def letters(stream: list[Wire]) -> list[str]:
        return [
            f"{event.get('messageId')}{letter}"
            for event in stream
            for letter in event.get("delta", "*")
        ]

    events_out = asyncio.run(passed(chain_of(LONG), *events))
    assert letters(events_out) == letters(events)
    for one, two in itertools.pairwise(events_out):
        assert one == custom() or {**one, "delta": ""} != {**two, "delta": ""}
