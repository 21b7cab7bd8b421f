"""Starts: under a key, often twice at once, and repeated until somebody was told the run."""

import asyncio
import contextlib
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import httpx

from tests.histories.checker.lines import seq_of
from tests.histories.load.clients import GONE, Clients
from tests.histories.load.readers import STREAM, Sse, frames, judge

Script = list[dict[str, Any]]


@dataclass
class Order:
    """A start that somebody wants: always the same request, however often it is sent."""

    clients: Clients
    script: Script
    key: str
    thread: str
    agent: str | None = None

    @property
    def input(self) -> dict[str, Any]:
        return {
            "threadId": self.thread,
            "runId": f"run of {self.thread}",
            "messages": [{"id": "m", "role": "user", "content": f"please, {self.key}"}],
            "forwardedProps": {"script": self.script},
        }

    def write(self, way: str, run: str | None, status: int | None) -> None:
        digest = hashlib.sha256(json.dumps(self.input).encode()).hexdigest()[:16]
        self.clients.recording.write(
            "start", client=way, key=self.key, body=digest, thread=self.thread, run=run,
            status=status,
        )  # fmt: skip

    async def start(self, *, person: str | None = None) -> str:
        """By ``POST /api/v1/runs``; the run's id."""
        body = {"agent": self.agent or self.clients.agent, "input": self.input}
        while True:
            try:
                async with self.clients.http(person) as client:
                    answer = await client.post(
                        "/api/v1/runs", json=body, headers={"Idempotency-Key": self.key}
                    )
            except GONE:
                self.write("api", None, None)
            else:
                run = answer.json()["id"] if answer.status_code in (200, 202) else None
                self.write("api", run, answer.status_code)
                if run is not None:
                    return str(run)
            await self.clients.pause()

    async def twice(self) -> str:
        """Two people's programs send it at the same time."""
        first, second = await asyncio.gather(self.start(), self.start())
        return first if first <= second else second


class Posted(Sse):
    """``POST /agui…``: the answer is the run's stream. A cut one is read on by GET."""

    transport = "agui-post"

    def __init__(self, order: Order) -> None:
        super().__init__(order.clients, "")
        self.order = order
        self.started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def read(self) -> None:
        try:
            await self._begin()
        finally:
            if not self.started.done():
                self.started.set_exception(TimeoutError("it was never started"))
        await super().read()

    async def _begin(self) -> None:
        with contextlib.suppress(*GONE):
            await self._post(whole=True)
        while not self.run:
            await self.clients.pause()
            with contextlib.suppress(*GONE):
                # This one joins a run that may be there already: only its name counts.
                await self._post(whole=False)

    async def _post(self, *, whole: bool) -> None:
        path = f"/agui/agent/{self.clients.agent}/run"
        headers = STREAM | {"Idempotency-Key": self.order.key}
        try:
            async with (
                self.clients.http() as client,
                client.stream("POST", path, json=self.order.input, headers=headers) as answer,
            ):
                await judge(answer, self.clients)
                self._name(answer)
                if whole:
                    self.open()
                    async for cursor, payload in frames(answer):
                        self.take(seq_of(cursor), payload, cursor)
        except GONE:
            if not self.run:
                self.order.write("agui", None, None)
            raise

    def _name(self, answer: httpx.Response) -> None:
        self.run = answer.headers["content-location"].split("/")[-2]
        self.order.write("agui", self.run, answer.status_code)
        if not self.started.done():
            self.started.set_result(self.run)
