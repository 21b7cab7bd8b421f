"""The one sender of a socket: answers first, then subscriptions in turn.

A subscription hands in a few frames and waits until they are sent before it hands in more. So each
of them is sent once per round, however many events one of them has.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

from agui_host.web.scope import Send

MOST_ANSWERS = 1_000
"""As many answers wait for a reader; then nothing more is read from it."""


class Outgoing:
    """What waits to be sent; ``run`` sends it."""

    def __init__(self, send: Send, *, stall: float, heartbeat: float, ping: str) -> None:
        self._send = send
        self._stall = stall
        self._heartbeat = heartbeat
        self._ping = ping
        self._answers: deque[str] = deque()
        self._turns: deque[tuple[Sequence[str], asyncio.Future[None]]] = deque()
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False

    async def answer(self, text: str) -> None:
        """Send this before any event that waits; waits itself while too many answers do."""
        await self._room.wait()
        if self._closed:
            return
        self._answers.append(text)
        if len(self._answers) >= MOST_ANSWERS:
            self._room.clear()
        self._work.set()

    async def frames(self, texts: Sequence[str]) -> None:
        """Send these in their turn; returns once they are sent."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.append((texts, turn))
        self._work.set()
        await turn

    async def run(self) -> None:
        """Send for ever. Raises TimeoutError if the reader accepts nothing for ``stall`` seconds.

        A silent socket gets a ping every ``heartbeat`` seconds.
        """
        while True:
            if not await self._wait():
                await self._all([self._ping])
            await self.flush()
            if self._turns:
                texts, turn = self._turns.popleft()
                if not turn.done():  # or its subscription has ended
                    await self._all(texts)
                    if not turn.done():
                        turn.set_result(None)

    async def flush(self) -> None:
        """Send the answers that wait."""
        while self._answers:
            await self._all([self._answers.popleft()])
        self._room.set()

    def close(self) -> None:
        """Drop waiting frames, and all later ones: they are not sent."""
        self._closed = True
        self._room.set()

    async def _wait(self) -> bool:
        """Whether there is something to send; false once it is time for a ping."""
        if self._answers or self._turns:
            return True
        self._work.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._heartbeat):
                return await self._work.wait()
        return False

    async def _all(self, texts: Sequence[str]) -> None:
        async with asyncio.timeout(self._stall):
            for text in texts:
                await self._send({"type": "websocket.send", "text": text})
