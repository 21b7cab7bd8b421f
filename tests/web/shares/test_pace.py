"""The pace of a team's sockets: what is too fast waits, for all of its sockets together."""

import asyncio
import time
from uuid import uuid4

import pytest

from agui_host.backends import work
from agui_host.web.shares import pace


async def read(frames: int, each: pace.Pace) -> None:
    for _ in range(frames):
        await each.frame()


async def test_all_sockets_of_a_team_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MOST", 10)
    monkeypatch.setattr(pace, "SECONDS", 0.05)
    team, other = uuid4(), uuid4()
    one, two = pace.pace_of(team), pace.pace_of(team)
    began = time.monotonic()
    await asyncio.gather(read(50, one), read(50, two))
    assert time.monotonic() - began >= 9 * 0.05
    assert pace.pace_of(other) is not one


async def test_bytes_count_as_well_as_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MOST_BYTES", 1_000)
    monkeypatch.setattr(pace, "SECONDS", 0.05)
    each = pace.pace_of(uuid4())
    began = time.monotonic()
    await each.frame(5_000)
    await each.frame(1)
    assert time.monotonic() - began >= 4 * 0.05


async def test_a_team_in_debt_is_read_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "PAUSE", 0.05)
    team = uuid4()
    work.charge(team, "parse", 10 * int(work.SHARE * work.BURST))
    began = time.monotonic()
    await pace.pace_of(team).frame()
    assert time.monotonic() - began >= 0.05
