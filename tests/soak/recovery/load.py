"""Clients that start runs and read them while a host is upgraded; how late they are answered."""

import asyncio
import random
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from tests.histories.load.clients import GONE, Clients
from tests.histories.load.readers import ONE_RUN
from tests.histories.load.starting import Order
from tests.histories.recording import Recording

TICK = 0.05
STARTERS, PAUSE = 2, 0.2
"""Tasks that start runs, and their seconds between two starts."""
SHORT, LONG = {"text": "a ", "n": 3}, {"text": "a ", "n": 40, "rate": 20}
MOMENTS = """
select journal_id::text, seq, extract(epoch from at)::float from events_event
 where journal_id = any(%s::uuid[])
"""


class Timed(Recording):
    """A history, and the moments of its events."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.opened: dict[str, float] = {}
        self.received: list[tuple[str, str, int, float]] = []

    def write(self, kind: str, **members: Any) -> None:
        super().write(kind, **members)
        if kind == "open":
            self.opened.setdefault(members["reader"], time.time())
        elif kind == "event":
            self.received.append((members["reader"], members["run"], members["seq"], time.time()))


@dataclass
class Lateness:
    """Seconds, by what happened meanwhile: of starts until their answer, of events to readers.

    ``clients``: how late the clients themselves were, whose machine is the host's.
    """

    starts: Mapping[str, list[float]]
    events: Mapping[str, list[float]]
    clients: Mapping[str, list[float]]

    def lines(self) -> list[str]:
        return [
            f"{kind} while {step}: {len(values)}, p99 {at(values, 0.99):.2f} s,"
            f" latest {max(values):.2f} s"
            for kind, by_step in (
                ("starts", self.starts), ("events", self.events), ("clients", self.clients)
            )
            for step, values in by_step.items()
        ]  # fmt: skip

    def too_late(self, most: float) -> list[str]:
        """The steps in which one was later than that, beyond the lateness of the clients."""
        return [
            step
            for by_step in (self.starts, self.events)
            for step, values in by_step.items()
            if max(values) > most + max(self.clients.get(step, [0.0]))
        ]


def at(values: list[float], share: float) -> float:
    """The value below which this share of them is."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class Load(threading.Thread):
    """``urls`` are those of the web processes that serve; it may change at any time.

    Most starts have a key, and are sent until they are answered; some are of shared threads.
    """

    def __init__(self, urls: list[str], key: str, recording: Timed) -> None:
        super().__init__(name="load", daemon=True)
        self.clients = Clients(urls, {"ann": key}, recording, random.Random(1))
        self.recording = recording
        self.runs: list[str] = []
        self.over = threading.Event()
        self.step = "the old commit serves"
        self.steps: list[tuple[float, str]] = []
        self.starts: defaultdict[str, list[float]] = defaultdict(list)
        self.late: defaultdict[str, list[float]] = defaultdict(list)
        self.wrong: list[str] = []

    def begin(self, step: str) -> None:
        """What happens from now on."""
        self.recording.fault(step)
        self.step = step
        self.steps.append((time.time(), step))

    def run(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        readings: set[asyncio.Task[None]] = set()
        ticking = asyncio.create_task(self._tick())
        await asyncio.gather(*(self._start(number, readings) for number in range(STARTERS)))
        self.clients.last_moment = time.monotonic() + 120
        if readings:
            await asyncio.wait(readings)
        ticking.cancel()

    async def _tick(self) -> None:
        while True:
            step, due = self.step, time.time() + TICK
            await asyncio.sleep(TICK)
            self.late[step].append(time.time() - due)

    async def _start(self, number: int, readings: "set[asyncio.Task[None]]") -> None:
        for turn in range(10**9):
            if self.over.is_set():
                return
            await asyncio.sleep(PAUSE)
            step, began = self.step, time.time()
            script = [SHORT if turn % 3 else LONG]
            name = self.clients.name("order")
            if turn % 4 == 0:
                run = await self._in_shared_thread(script, f"{number}-{turn // 40}")
            else:
                run = await Order(self.clients, script, key=name, thread=f"of {name}").start()
            self.starts[step].append(time.time() - began)
            if run is not None:
                self.runs.append(run)
                task = asyncio.create_task(self._read(run))
                readings.add(task)

    async def _in_shared_thread(self, script: list[dict[str, Any]], thread: str) -> str | None:
        """A start without a key; None if its web process ended meanwhile."""
        content = {"threadId": thread, "forwardedProps": {"script": script}}
        body = {"agent": "scripted", "onBusy": "enqueue", "input": content}
        run, status = None, None
        with suppress(*GONE):
            async with self.clients.http() as client:
                answer = await client.post("/api/v1/runs", json=body)
                status = answer.status_code
                run = answer.json()["id"] if status == httpx.codes.ACCEPTED else None
            if run is None:
                self.wrong.append(f"{status} while {self.step}: {answer.url} {answer.text}")
        self.recording.write(
            "start", client="api", key=None, body="", thread=thread, run=run, status=status
        )
        return run

    async def _read(self, run: str) -> None:
        reader = self.clients.chance.choice(ONE_RUN)(self.clients, run)
        try:
            await reader.read()
        except Exception as error:
            self.wrong.append(f"{reader.name} of {run}: {error!r}")

    def lateness(self, where: str) -> Lateness:
        """An event is late from its moment in the log, or from its reader's arrival, on."""
        with psycopg.connect(where) as link:
            rows = link.execute(MOMENTS, [self.runs]).fetchall()
        moments = {(run, seq): moment for run, seq, moment in rows}
        events: defaultdict[str, list[float]] = defaultdict(list)
        for reader, run, seq, received in self.recording.received:
            due = max(moments[run, seq], self.recording.opened[reader])
            events[self._step_at(due)].append(received - due)
        return Lateness(self.starts, events, self.late)

    def _step_at(self, moment: float) -> str:
        return next(
            (step for began, step in reversed(self.steps) if began <= moment),
            "the old commit serves",
        )
