"""How long to wait before the next try, and when to give up."""

import asyncio
import random
import time

from agui_client.errors import ConnectionLost, raise_untrusted

FIRST, LONGEST = 0.1, 5.0


class Backoff:
    """Tries at growing intervals, with jitter, until ``timeout`` seconds of failures have passed.

    They count from the first failure: a connection that was fine for hours gets all of them.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.succeeded()

    def succeeded(self) -> None:
        """The server answered: the timeout starts again with the next failure."""
        self._tries = 0
        self._since: float | None = None

    async def again(self, error: Exception) -> None:
        """Wait before the next try, after ``error``, as long as a server can ask for. Raises
        Untrusted, and ConnectionLost once the timeout has passed."""
        raise_untrusted(error)
        now = time.monotonic()
        if self._since is None:
            self._since = now
        left = self._since + self._timeout - now
        if left <= 0:
            why = str(error) or repr(error)
            raise ConnectionLost(f"no answer for {self._timeout:g} s: {why}") from error
        most = min(LONGEST, FIRST * 2**self._tries)
        self._tries += 1
        jittered = most * (0.5 + random.random() / 2)  # noqa: S311  no secret
        await asyncio.sleep(min(max(jittered, getattr(error, "retry_after", 0.0)), left))
