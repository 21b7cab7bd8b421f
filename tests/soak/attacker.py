"""A team's key that attacks a host, and what the host answered."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import count
from typing import Any

import httpx

Round = Callable[["Attacker"], Awaitable[Any]]


class Attacker:
    """A team's key, and what it was answered."""

    def __init__(self, url: str, key: str, seconds: float) -> None:
        self.url, self.seconds = url, seconds
        self.until = time.monotonic() + seconds
        self.answers: dict[str, Counter[str]] = {}
        self.client = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            timeout=30,
            limits=httpx.Limits(max_connections=400, max_keepalive_connections=50),
        )

    async def begin(self, agent: str, body: dict[str, Any]) -> httpx.Response:
        return await self.client.post("/api/v1/runs", json={"agent": agent, "input": body})

    async def play(self, *script: dict[str, Any], agent: str = "scripted") -> httpx.Response:
        return await self.begin(agent, {"forwardedProps": {"script": list(script)}})

    async def ended(self, run_id: str, seconds: float = 30.0) -> None:
        """Wait for the end of a run, for a while."""
        with suppress(httpx.HTTPError):
            await self.client.get(
                f"/api/v1/runs/{run_id}/events",
                headers={"Accept": "text/event-stream"},
                timeout=seconds,
            )

    def count(self, attack: str, answer: object) -> None:
        self.answers.setdefault(attack, Counter())[str(answer)] += 1

    async def repeat(self, name: str, attack: Round, copies: int) -> None:
        """Until the time is over."""
        await asyncio.gather(
            *(self._repeat(name, attack, count(), self.until) for _ in range(copies))
        )

    async def play_rounds(self, name: str, attack: Round, copies: int, rounds: int) -> None:
        """So many rounds of each copy, or fewer if the seconds of an attacker are over before."""
        until = time.monotonic() + self.seconds
        await asyncio.gather(
            *(self._repeat(name, attack, range(rounds), until) for _ in range(copies))
        )

    async def _repeat(self, name: str, attack: Round, rounds: Iterable[int], until: float) -> None:
        for _ in rounds:
            if (left := until - time.monotonic()) <= 0:
                return
            try:
                async with asyncio.timeout(left):
                    self.count(name, await attack(self))
            except TimeoutError:
                return self.count(name, "no answer at the end")
            except (httpx.HTTPError, OSError) as error:
                self.count(name, type(error).__name__)
            await asyncio.sleep(0.01)


def user(text: str) -> dict[str, Any]:
    return {"messages": [{"id": "m", "role": "user", "content": text}]}
