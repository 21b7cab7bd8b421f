"""The pace of a team's sockets: what is too fast waits, for all of its sockets together."""

import asyncio
import time
from uuid import uuid4

import pytest

from web import pace


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
