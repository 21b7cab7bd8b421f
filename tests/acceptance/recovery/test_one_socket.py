"""Fifty runs over one socket while the web process is killed: every event once, in order."""

import asyncio
import itertools
import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
import websockets

from tests.acceptance.host import Host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
RUNS, DELTAS = 50, 120
SCRIPT = [{"text": "x", "n": DELTAS, "rate": 20}]
ASKING = [{"interrupt": {"reason": "confirm"}}]
ENDLESS = [{"text": "x", "n": 100_000, "rate": 20}]


class Program:
    """What another program is: jobs, a cursor for each run, and one socket at a time."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.scripts = {f"job{number}": SCRIPT for number in range(RUNS)}
        self.scripts |= {"asking": ASKING, "endless": ENDLESS}
        self.logs: dict[str, list[Any]] = {}
        self.runs: dict[str, str] = {}
        self.ended: set[str] = set()
        self.answered = ""
        self.sockets = 0
        self.arrived = asyncio.Condition()
        self._ids = itertools.count(1)

    async def work(self) -> None:
        url = self.host.url.replace("http", "ws") + "/ws/"
        while not self.is_done():
            try:
                async with websockets.connect(
                    url, additional_headers=self.host.headers, subprotocols=["agui.host.v1"]
                ) as socket:
                    self.sockets += 1
                    await self._drive(socket)
            except (websockets.ConnectionClosed, OSError, websockets.InvalidHandshake):
                await asyncio.sleep(0.2)

    def is_done(self) -> bool:
        expected = {self.runs.get(job) for job in self.scripts} | {self.answered}
        return expected <= self.ended

    async def _drive(self, socket: Any) -> None:
        names: dict[str, str] = {}
        calls: dict[int, tuple[str, Any]] = {}

        async def call(what: Any, method: str, **params: Any) -> None:
            number = next(self._ids)
            calls[number] = (method, what)
            frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            await socket.send(json.dumps(frame))

        async def answer() -> None:
            key = await asyncio.to_thread(self._question)
            await call(None, "interrupt.answer", interrupt=key, status="cancelled")

        for job, script in self.scripts.items():
            if job not in self.runs:
                input = {"forwardedProps": {"script": script}}
                await call(
                    job,
                    "run.start",
                    agent="scripted",
                    input=input,
                    idempotency_key=job,
                    subscribe=0,
                )
        answering = {self.answered} if self.answered else set()
        for run in (self.logs.keys() | answering) - self.ended:
            await call(run, "run.subscribe", run=run, after=len(self.logs.get(run, ())))
        if self.runs.get("asking") in self.ended and not self.answered:
            await answer()
        async for text in socket:
            frame = json.loads(text)
            assert "error" not in frame, frame
            params = frame.get("params", {})
            if "result" in frame:
                method, what = calls.pop(frame["id"])
                run = (frame["result"].get("run") or {}).get("id", what)
                if "subscription" in frame["result"]:
                    names[frame["result"]["subscription"]] = run
                    self.logs.setdefault(run, [])
                if method == "run.start":
                    self.runs[what] = run
                elif method == "interrupt.answer":
                    self.answered = run
                    await call(run, "run.subscribe", run=run, after=0)
            elif frame["method"] == "event":
                log = self.logs[params["run"]]
                assert names[params["subscription"]] == params["run"]
                assert params["seq"] == len(log) + 1, "an event was lost or doubled"
                log.append(params["event"])
                ack = {"subscription": params["subscription"], "seq": params["seq"]}
                await socket.send(json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack}))
                # More than once: a kill may have swallowed the request.
                if params["run"] == self.runs.get("endless") and len(log) % DELTAS == 0:
                    await call(params["run"], "run.cancel", run=params["run"])
            elif frame["method"] == "end":
                assert params["reason"] == "finished", params
                run = names[params["subscription"]]
                self.ended.add(run)
                if run == self.runs["asking"]:
                    await answer()
            async with self.arrived:
                self.arrived.notify_all()
            if self.is_done():
                return

    def _question(self) -> str:
        with self.host.client() as client:
            return str(client.get("/api/v1/interrupts").json()["results"][0]["id"])


async def test_fifty_runs_through_two_kills(new_host: Callable[..., Host]) -> None:
    host = new_host()
    program = Program(host)
    working = asyncio.create_task(program.work())
    for share in (3, 2):
        target = RUNS * DELTAS // share
        async with program.arrived, asyncio.timeout(120):
            await program.arrived.wait_for(
                lambda target=target: sum(map(len, program.logs.values())) > target
            )
        assert not program.is_done()
        await asyncio.to_thread(host.restart, host.web, signal_=signal.SIGKILL)
    async with asyncio.timeout(120):
        await working
    assert program.sockets == 3
    assert len(program.logs) == RUNS + 3
    for run, log in program.logs.items():
        stored = await asyncio.to_thread(host.events, run)
        assert [event["event"] for event in stored] == log
    states = {job: host.run(run)["status"] for job, run in program.runs.items()}
    assert states.pop("endless") == "cancelled"
    assert states.pop("asking") == "interrupted"
    assert set(states.values()) == {"succeeded"}
