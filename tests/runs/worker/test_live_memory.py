"""States of many values: how many of them a team's live runs keep in a worker at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_host.backends import apart
from agui_host.backends.held import FREE, LIVE, Live
from agui_host.backends.postgres.bridge import db
from agui_host.protocol.sizes import memory_of
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.kinds import http
from agui_host.runtimes.models import Agent
from events.models import Event
from events.writer import JournalWriter
from runs.models import Run
from tests.cast import Cast, perform, start
from tests.runtimes.kinds.peers import FINISHED, STREAM, Call, Peer, peer

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = 8
STATE: dict[str, Any] = {f"key {n}": n for n in range(20_000)}
MEMORY = memory_of(dumps(STATE))
UNDER_WAY = apart.VALUE_BYTES * len(STATE) + len(dumps(STATE))


@pytest.fixture(autouse=True)
async def nothing_left(settings: Any) -> AsyncIterator[None]:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]
    yield
    await http.close()


class Team:
    """Runs of one team whose agent keeps a state until ``let_go``."""

    def __init__(self, cast: Cast, writer: JournalWriter, live: Live) -> None:
        self.cast, self.writer, self.let_go = cast, writer, asyncio.Event()
        apart.of_this_loop().live = self.live = live

    async def agent(self, call: Call) -> None:
        await call.raw(STREAM)
        await call.events({"type": "STATE_SNAPSHOT", "snapshot": STATE})
        await self.let_go.wait()
        await call.events(FINISHED)
        await call.gone()

    async def of(self, far: Peer) -> Agent:
        return await db(
            Agent.objects.create,
            team=self.cast.team, slug="far", name="Far", kind="http", target=far.url,
        )  # fmt: skip

    async def begin(self, far: Peer) -> list["asyncio.Task[Run]"]:
        agent = await self.of(far)
        queued = [await db(start, self.cast.alice, agent, threadId=f"t{n}") for n in range(RUNS)]
        return [asyncio.create_task(perform(run, self.writer)) for run in queued]

    async def states(self) -> int:
        """The runs whose state is in memory: it is stored at once."""
        return await db(Event.objects.filter(type="STATE_SNAPSHOT").count)


async def test_a_team_keeps_few_of_them_and_its_other_runs_wait(
    cast: Cast, writer: JournalWriter
) -> None:
    share = 3 * MEMORY + UNDER_WAY
    team = Team(cast, writer, Live(10 * share, share))
    async with peer(team.agent) as far, asyncio.timeout(60):
        runs = await team.begin(far)
        while await team.states() + team.live.waiting < RUNS:
            await asyncio.sleep(0)
        assert 2 <= await team.states() <= 4
        assert team.live.bytes <= share
        team.let_go.set()
        ended = await asyncio.gather(*runs)
    assert {run.status for run in ended} == {"succeeded"}
    assert await team.states() == RUNS
    assert not team.live.bytes
    assert not team.live.by_team


async def test_above_the_share_the_oldest_continues_and_the_others_end_with_a_reason(
    cast: Cast, writer: JournalWriter
) -> None:
    """A run alone can be larger than the share."""
    team = Team(cast, writer, Live(MEMORY // 2, FREE, patience=0.2))
    async with peer(team.agent) as far, asyncio.timeout(60):
        runs = await team.begin(far)
        pending = set(runs)
        while len(pending) > 1:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        team.let_go.set()
        oldest = await pending.pop()
        ended = [await run for run in runs]
    assert oldest.status == "succeeded"
    failed = [run for run in ended if run.pk != oldest.pk]
    assert {run.error_code for run in failed} == {"event_too_large"}
    assert "Keep less in the state" in failed[0].error_message
    assert await team.states() == 1
    assert not team.live.bytes


async def test_the_history_of_its_thread_counts_as_input(cast: Cast, writer: JournalWriter) -> None:
    """The second run sends one short message, and is given the long one of the first run."""
    team, counted = Team(cast, writer, Live(*LIVE)), []

    async def answer(call: Call) -> None:
        counted.append(team.live.bytes)
        await call.raw(STREAM)
        await call.events(FINISHED)
        await call.gone()

    async with peer(answer) as far, asyncio.timeout(60):
        agent = await team.of(far)
        for content in ("word " * (2 * FREE // 5), "and?"):
            message = {"id": content[:4], "role": "user", "content": content}
            run = await db(start, cast.alice, agent, threadId="t", messages=[message])
            await perform(run, writer)
    assert counted[1] > 2 * FREE
    assert not team.live.bytes
