"""Frames of sockets: what is large is parsed off the loop, in turn, and bounded in bytes."""

import asyncio
import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest

from agui_host.backends import apart, work
from agui_host.backends.held import Held, Hold
from agui_host.errors import TooLarge
from agui_host.teams.limits import LimitReached
from agui_host.web.asgi_http import Request
from agui_host.web.shares import parsing

T = TypeVar("T")


async def parsed(team: UUID, text: str, parse: Callable[[], T]) -> T:
    hold = Hold(parsing.ledger, team)
    try:
        return await parsing.in_turn(team, text, parse, hold)
    finally:
        hold.close()


async def test_a_large_frame_is_parsed_in_a_thread_and_a_small_one_here() -> None:
    team, here = uuid4(), threading.get_ident()
    assert await parsed(team, "1", threading.get_ident) == here
    large = "1" * (apart.SMALL + 1)
    assert await parsed(team, large, threading.get_ident) != here


async def test_a_large_body_is_parsed_in_a_thread_and_a_small_one_here() -> None:
    team, here = uuid4(), threading.get_ident()
    for size, apart_from_here in ((10, False), (apart.SMALL, True)):
        text = json.dumps("x" * size).encode()
        request = Request({"type": "http"}, receive=partial(_whole, text))
        read = await parsing.body(request, team, lambda value: (value, threading.get_ident()))
        assert read[0] == "x" * size
        assert (read[1] != here) is apart_from_here
    empty = Request({"type": "http"}, receive=partial(_whole, b""))
    assert await parsing.body(empty, team, lambda value: value, empty=b"{}") == {}


async def _whole(body: bytes) -> dict[str, Any]:
    return {"type": "http.request", "body": body}


async def test_a_team_parses_one_frame_at_a_time_and_leaves_a_slot_to_others() -> None:
    team, other, text = uuid4(), uuid4(), "1" * (apart.SMALL + 1)
    release, begun = threading.Event(), []

    def parse() -> None:
        begun.append(1)
        release.wait(30)

    tasks = [asyncio.create_task(parsed(team, text, parse)) for _ in range(8)]
    assert await parsed(other, text, lambda: "done") == "done"
    assert len(begun) <= 1
    release.set()
    await asyncio.gather(*tasks)
    assert len(begun) == 8


async def test_values_are_charged_to_the_team(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_buckets", work.Buckets(clock=lambda: 0.0))
    team = uuid4()
    text = "[" + "1," * 40_000 + "1]"
    while not work.debt(team):  # bounded: each frame costs 45,000 of 4,000,000 units
        await parsed(team, text, lambda: None)


def test_bytes_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "ledger", Held(process=3_000_000, team=2_000_000))
    team, other = uuid4(), uuid4()
    holds = [parsing.admit(team, 1_000_000) for _ in range(2)]
    with pytest.raises(LimitReached) as refused:
        parsing.admit(team, 1_000)
    assert refused.value.headers["Retry-After"] == "1"
    holds.append(parsing.admit(other, 1_000_000))
    with pytest.raises(LimitReached):
        parsing.admit(uuid4(), 1_000)
    for hold in holds:
        hold.close()
    parsing.admit(team, 1_000_000).close()
    with pytest.raises(TooLarge):
        parsing.admit(team, 64_000_000)
