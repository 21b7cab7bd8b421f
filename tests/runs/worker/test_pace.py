"""The pace of a run: a burst of one second, then its rate."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.backends.work import Buckets
from agui_host.protocol.encoding import Record
from agui_host.protocol.intake.intake import Intake
from agui_host.teams.models import TeamLimits
from runs.worker import pace as pacing
from runs.worker.pace import EVENT, LUMP, LUMP_ALONE, Pace, Work
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


@pytest.mark.parametrize("kind", ["CUSTOM", "TEXT_MESSAGE_CONTENT"])
async def test_a_flood_is_slowed_and_not_cut(cast: Cast, play: Play, kind: str) -> None:
    """150 events at 100/s: the last 50 take half a second, by the events' own clock."""

    async def flood(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m"}
        for number in range(150):
            if kind == "CUSTOM":
                yield {"type": kind, "name": "drop", "value": number}
            else:
                yield {"type": kind, "messageId": "m", "delta": str(number)}

    await db(TeamLimits.objects.create, team=cast.team, events_per_second=100)
    run, log = await play(flood)
    assert run.status == "succeeded"
    flooded = [event for event in log if event["type"] == kind]
    field = "value" if kind == "CUSTOM" else "delta"
    assert [int(event[field]) for event in flooded] == list(range(150))
    assert flooded[-1]["timestamp"] - log[0]["timestamp"] >= 450


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


async def test_work_is_charged_in_lumps_and_waits_above_the_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buckets, slept = Buckets(share=1000, burst=1.0, clock=Clock()), list[float]()
    monkeypatch.setattr(
        pacing.work, "charge", lambda team, kind, units: buckets.charge(team, units)
    )
    monkeypatch.setattr(pacing.work, "debt", lambda team: 0.0 if slept[1:] else buckets.debt(team))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(pacing.asyncio, "sleep", sleep)
    work = Work("t", Intake("t", "r"))
    assert not work.add([], 0, LUMP)
    assert work.add([Record("CUSTOM", b"x" * 160, 0.0)], 160, 0)
    await work.settle()
    assert work.units == 0
    assert slept == [0, (LUMP + EVENT + 10 - 1000) / 1000]


async def test_the_lumps_of_a_team_that_is_alone_are_larger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agui_host.backends.work._buckets", Buckets(share=10**9, clock=Clock()))
    work = Work("t", Intake("t", "r"))
    await work.settle()
    assert not work.add([], 0, LUMP_ALONE)
    pacing.work.charge(uuid4(), "fold", 1)
    await work.settle()
    assert not work.add([], 0, LUMP)
    assert work.add([], 0, 1)


async def test_a_flood_of_copies_is_charged_to_the_team(
    cast: Cast, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patches of 90 bytes that each copy 40,000 values: the loop is given back after each."""
    owed, settled = [0], [0]

    def charge(team: object, kind: str, units: int) -> None:
        assert (team, kind) == (cast.team.pk, "fold")
        owed[0] += units

    monkeypatch.setattr(pacing.work, "charge", charge)
    settle = Work.settle

    async def counted(self: Work) -> None:
        settled[0] += 1
        await settle(self)

    monkeypatch.setattr(Work, "settle", counted)

    async def copies(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "STATE_SNAPSHOT", "snapshot": {"a": [0] * 40_000, "b": 0}}
        for _ in range(20):
            yield {
                "type": "STATE_DELTA",
                "delta": [{"op": "copy", "from": "/a", "path": "/b"}],
            }

    await play(copies)
    assert settled[0] >= 20
    assert owed[0] >= 20 * 40_000


async def test_the_loop_has_a_turn_between_the_lumps_of_two_runs_without_debt() -> None:
    order = list[str]()

    async def run(name: str) -> None:
        work = Work(uuid4(), Intake("t", "r")) if name == "other" else Work("t", Intake("t", "r"))
        await work.settle()
        order.append(name)
        loop.call_soon(order.append, "turn")

    loop = asyncio.get_running_loop()
    await asyncio.gather(run("first"), run("second"), run("other"))
    assert order[order.index("first") : order.index("second")].count("turn") >= 1
    assert order.index("other") < order.index("second")
