"""The pace of a run: a burst of one second, then its rate."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from backends.postgres.bridge import db
from runs.worker.pace import Pace
from teams.models import TeamLimits
from tests.cast import Cast
from tests.runs.playing import Play


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_of_a_second_is_free_and_then_the_rate_counts() -> None:
    clock = Clock()
    pace = Pace(10, clock)
    pace.left -= 10
    assert pace.left == 0
    pace.left -= 5
    assert pace.debt() == 0.5
    clock.now += 0.5
    assert pace.debt() == 0


def test_a_pause_saves_up_no_more_than_a_second() -> None:
    clock = Clock()
    pace = Pace(10, clock)
    clock.now += 3600
    assert pace.debt() == 0
    assert pace.left == 10


def test_without_a_rate_there_is_nothing_to_owe() -> None:
    pace = Pace(0)
    pace.left -= 10**9
    assert pace.left > 0


async def test_a_flood_is_slowed_and_not_cut(cast: Cast, play: Play) -> None:
    """150 events at 100/s: the last 50 take half a second, by the events' own clock."""

    async def flood(ctx: Any) -> AsyncIterator[Any]:
        for number in range(150):
            yield {"type": "CUSTOM", "name": "drop", "value": number}

    await db(TeamLimits.objects.create, team=cast.team, events_per_second=100)
    run, log = await play(flood)
    assert run.status == "succeeded"
    values = [event["value"] for event in log if event["type"] == "CUSTOM"]
    assert values == list(range(150))
    assert log[-1]["timestamp"] - log[0]["timestamp"] >= 450


async def test_a_teams_limits_bound_an_event_and_a_run(cast: Cast, play: Play) -> None:
    async def big(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "big", "value": "x" * 2000}

    await db(TeamLimits.objects.create, team=cast.team, event_bytes=1000)
    run, _ = await play(big)
    assert run.error_code == "event_too_large"


async def test_a_teams_run_seconds_count_before_the_agents_own(cast: Cast, play: Play) -> None:
    async def endless(ctx: Any) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield ""

    await db(TeamLimits.objects.create, team=cast.team, run_seconds=1)
    run, _ = await play(endless, timeout_seconds=600)
    assert run.error_code == "timeout"
