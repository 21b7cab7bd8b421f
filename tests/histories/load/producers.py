"""Producers: feed a run from elsewhere in numbered batches, each repeated until it is answered."""

import asyncio
import json
from typing import Any

import httpx

from tests.histories.load.clients import BUSY, GONE
from tests.histories.load.starting import Order

BATCHES, DELTAS = 12, 5
ENDED = 409


class Producer:
    """The run is there; the producer closes it with its last batch."""

    def __init__(self, order: Order, run: str) -> None:
        self.order, self.run, self.clients = order, run, order.clients
        self.name = self.clients.name("producer")
        self.ended = False

    async def work(self) -> None:
        chance = self.clients.chance
        start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        count = chance.randint(1, BATCHES)
        for number in range(count):
            texts = [f"{self.name}.{number}.{n} " for n in range(chance.randint(1, DELTAS))]
            deltas = [
                {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text} for text in texts
            ]
            events = [start, *deltas] if number == 0 else deltas
            again = 2 if chance.random() < 0.2 else 1  # a repetition overtakes its batch
            last = number == count - 1
            await asyncio.gather(*(self._send(number, events, texts, last) for _ in range(again)))
            if self.ended:
                return
            await self.clients.pause()

    async def _send(
        self, number: int, events: list[dict[str, Any]], texts: list[str], last: bool
    ) -> None:
        place = {
            "Producer-Id": self.name, "Producer-Epoch": "0", "Producer-Seq": str(number),
            "Content-Type": "application/json",
        }  # fmt: skip
        if last:
            place["Stream-Closed"] = "true"
        while True:
            status = None
            try:
                async with self.clients.http() as http:
                    answer = await http.post(
                        f"/api/v1/runs/{self.run}/stream", content=json.dumps(events), headers=place
                    )
                status = answer.status_code
            except GONE:
                pass
            self.clients.recording.write(
                "batch", run=self.run, producer=self.name, epoch=0, number=number, status=status,
                texts=texts,
            )  # fmt: skip
            if status is not None and status not in BUSY:
                self._judge(number, answer)
                return
            await self.clients.pause()

    def _judge(self, number: int, answer: httpx.Response) -> None:
        if answer.is_success:
            return
        # A producer that could not reach the host for too long has lost its run.
        # So has one whose batches are gone.
        self.ended = answer.headers.get("stream-closed") == "true" or (
            self.clients.may_lose and answer.status_code in (404, ENDED)
        )
        if not self.ended:
            detail = f"{answer.status_code} for {number}: {answer.text[:200]}"
            self.clients.refused.append(f"{self.name} of {self.run}: {detail}")
            self.ended = True
