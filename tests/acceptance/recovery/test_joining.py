"""Readers that join at any time, over a bell that loses, repeats and delays: nobody misses one."""

import asyncio
import os
import random
from collections.abc import Callable

import httpx
import pytest

from tests.acceptance.host import Host
from tests.acceptance.readers import Reading, Way, open_client, read, stored, until_head

pytestmark = pytest.mark.slow

DELTAS, RATE, AT_THE_END, AFTERWARDS = 10_000, 500, 50, 30
READERS = (200, pytest.param(500, marks=pytest.mark.soak))
WAYS: list[Way] = ["last-event-id", "after", "last-event-id", "after", "socket"]
SCRIPT = [
    {"text": "word ", "n": DELTAS, "rate": RATE},
    {"text": "the end ", "n": 2, "rate": 1},  # so that there is time to join just before it
]


@pytest.mark.parametrize("readers", READERS)
async def test_every_reader_gets_exactly_what_was_stored(
    new_host: Callable[..., Host], readers: int
) -> None:
    seed = int(os.environ.get("JOIN_SEED", "1"))
    host = new_host(web_module="tests.acceptance.faulty:web_application", FAULTS_SEED=str(seed))
    chances = random.Random(seed)
    run_id = host.begin(script=SCRIPT)["id"]
    async with open_client(host) as client, asyncio.TaskGroup() as group:

        async def join(after: int) -> Reading:
            reading = Reading(after, chances.choice(WAYS))
            return await asyncio.wait_for(read(host, client, run_id, reading), 120)

        heads = Heads()

        async def join_while_it_runs() -> Reading:
            head = await heads.reach(chances.randrange(1, DELTAS))
            return await join(chances.choice([0, head, chances.randint(0, head)]))

        group.create_task(heads.watch(client, run_id, DELTAS))
        count = readers - AT_THE_END - AFTERWARDS
        joined = [group.create_task(join_while_it_runs()) for _ in range(count)]
        late = await until_head(client, run_id, DELTAS + 1)
        joined += [group.create_task(join(late - chances.randint(0, 4))) for _ in range(AT_THE_END)]
        host_run = await asyncio.to_thread(host.wait_status, run_id, "succeeded", "failed")
        assert host_run["status"] == "succeeded"
        head = host_run["events"]
        joined += [group.create_task(join(chances.randint(0, head - 1))) for _ in range(AFTERWARDS)]
    async with open_client(host) as client:
        log = await stored(client, run_id)
        faults = (await client.get("/faults")).json()
    assert len(log) == head >= 10_000
    readings = [task.result() for task in joined]
    assert len(readings) == readers
    wrong = [problem for reading in readings if (problem := reading.wrong(log))]
    assert not wrong, f"seed {seed}: {len(wrong)} wrong, first {wrong[:3]}"
    # A slow machine puts more events into one bell, and so has fewer bells to spoil.
    assert all(faults.get(kind, 0) > 20 for kind in ("drop", "double", "delay")), faults
    sockets = [reading for reading in readings if reading.way == "socket"]
    assert sockets
    assert {reading.close_code for reading in sockets} == {1000}


class Heads:
    """The run's head, watched once for all readers that wait for a moment to join."""

    def __init__(self) -> None:
        self.head = 0
        self.moved = asyncio.Condition()

    async def watch(self, client: httpx.AsyncClient, run_id: str, until: int) -> None:
        while self.head < until:
            head = await until_head(client, run_id, self.head + 1)
            async with self.moved:
                self.head = head
                self.moved.notify_all()

    async def reach(self, seq: int) -> int:
        async with self.moved:
            await self.moved.wait_for(lambda: self.head >= seq)
            return self.head
