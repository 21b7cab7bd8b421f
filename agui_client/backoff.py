"""How long to wait before the next try, and when to give up."""

import asyncio
import random
import time

FIRST, LONGEST = 0.1, 5.0


class Backoff:
    """Tries at growing intervals, with jitter, until ``timeout`` seconds pass without success."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.succeeded()

    def succeeded(self) -> None:
        """The server answered: the timeout starts again."""
        self._tries = 0
        self._since = time.monotonic()

    @property
    def spent(self) -> bool:
        """Whether it is time to give up."""
        return time.monotonic() - self._since >= self._timeout

    async def wait(self, at_least: float = 0.0) -> None:
        """Sleep before the next try; ``at_least`` seconds, as a server may ask for."""
        most = min(LONGEST, FIRST * 2**self._tries)
        self._tries += 1
        left = self._timeout - (time.monotonic() - self._since)
        jittered = most * (0.5 + random.random() / 2)  # noqa: S311  no secret
        await asyncio.sleep(max(0.0, min(max(jittered, at_least), left)))
