"""How slow the machine is meanwhile for processes like ours: other work shares its processors."""

import json
import multiprocessing
import os
import statistics
import time
from pathlib import Path

BURST, PAUSE = 0.04, 0.4
"""Seconds of a processor, and between two bursts."""


class Yardstick:
    """A process that works for a moment again and again, and notes how long that takes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_measure, args=(file, os.getpid()), daemon=True)

    def __enter__(self) -> "Yardstick":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(10)

    def slowness(self, since: float) -> float:
        """How many seconds one of a processor has taken since this moment, on average."""
        rows = [json.loads(line) for line in self._file.read_text().splitlines()]
        return max(1.0, statistics.mean([took for at, took in rows if at >= since] or [1.0]))


def _measure(file: Path, parent: int) -> None:
    with file.open("w", buffering=1) as lines:
        while os.getppid() == parent:
            at, began, used = time.time(), time.monotonic(), time.process_time()
            while time.process_time() < used + BURST:
                pass
            took = (time.monotonic() - began) / (time.process_time() - used)
            lines.write(f"{json.dumps([at, took])}\n")
            time.sleep(PAUSE)
