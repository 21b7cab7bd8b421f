"""A clock for promises in seconds, which a machine that is busy with something else does not break.

A thread repeats one piece of work; the clock counts the pieces and multiplies them by the time of
the fastest one that this process ever saw. On a machine that has time for the host a second of
this clock is a second; while others take the processor, or it stands still, the clock is late by
as much as the host is, since it competes as one more process would.
"""

import hashlib
import threading
import time
from types import TracebackType
from typing import Self

PIECE = bytes(8 * 2**20)  # hashed without the interpreter's lock, in about ten milliseconds
FIRST = 20


class WorkClock:
    """``with WorkClock() as clock``: it stands at 0 when the block begins."""

    fastest = float("inf")

    def __init__(self) -> None:
        self._pieces = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="work-clock", daemon=True)

    def __enter__(self) -> Self:
        if WorkClock.fastest == float("inf"):
            for _ in range(FIRST):
                self._piece()
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def seconds(self) -> float:
        """Seconds of work since the block began; never more than have really passed."""
        return min(self._pieces * WorkClock.fastest, time.monotonic() - self._began)

    def _work(self) -> None:
        while not self._over.is_set():
            self._piece()
            self._pieces += 1

    def _piece(self) -> None:
        began = time.perf_counter()
        hashlib.sha256(PIECE)
        WorkClock.fastest = min(WorkClock.fastest, time.perf_counter() - began)
