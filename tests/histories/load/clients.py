"""What all clients of a load share: addresses, credentials, chance, the record, the deadline."""

import asyncio
import itertools
import random
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx
import websockets

from tests.histories.recording import Recording

GONE = (httpx.HTTPError, OSError, websockets.WebSocketException, TimeoutError)
"""What a client sees when its connection or the host is hurt: it comes back."""
SILENCE = 8.0
"""Seconds without a byte after which a client gives a connection up; the host fills silence."""
BUSY = {429, 500, 502, 503, 504}
TLS = ssl.create_default_context()
"""Made once: a client of its own each time would read all authorities."""


class Reset(Exception):
    """History went back: what the reader has is dropped, and it begins again from 0."""

    def __init__(self, epoch: object = None, head: int = 0) -> None:
        self.epoch, self.head = epoch, head


class Refused(Exception):
    """An answer that is no success and that trying again does not change."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status


@dataclass
class Clients:
    """``urls`` lead through proxies to a web process each; ``keys`` are people, by name.

    The first person is an admin.
    """

    urls: list[str]
    keys: dict[str, str]
    recording: Recording
    chance: random.Random
    agent: str = "scripted"
    may_lose: bool = False
    """What was acknowledged may be gone: the standby is asynchronous."""
    refused: list[str] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    last_moment: float = field(default_factory=lambda: time.monotonic() + 3600)

    def name(self, kind: str) -> str:
        return f"{kind}-{next(self.numbers)}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {next(iter(self.keys.values()))}"}

    @property
    def url(self) -> str:
        return self.chance.choice(self.urls)

    @property
    def sockets(self) -> str:
        return self.url.replace("http", "ws", 1)

    def http(self, person: str | None = None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.keys[person]}"} if person else self.headers
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=httpx.Timeout(SILENCE, connect=3),
            verify=TLS,
        )  # fmt: skip

    async def pause(self, seconds: float | None = None) -> None:
        """Between two tries; a client that tries for ever is a violation in the end."""
        if time.monotonic() > self.last_moment:
            raise TimeoutError("the load has ended long ago")
        await asyncio.sleep(seconds or self.chance.uniform(0.05, 0.3))

    async def insist(self, ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """Ask until there is an answer of some use."""
        while True:
            try:
                answer = await ask()
                if answer.status_code not in BUSY:
                    return answer
            except GONE:
                pass
            await self.pause()
