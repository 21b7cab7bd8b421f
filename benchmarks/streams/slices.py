"""How late a thread wakes up beside others that compute, with slices as usual and with short ones.

``python -m benchmarks.streams.slices``: for 6 and for 16 processes that compute, a thread sleeps
2 ms again and again, with the kernel's slices and with those of
``agui_host.backends.interpreter.wake_soon``, in turns.
"""

import multiprocessing
import statistics
import time

from agui_host.backends import interpreter
from benchmarks.report import keep, percentile

SECONDS, SLEEP = 3.0, 0.002
ROUNDS = 3


def compute() -> None:
    while True:
        sum(range(1000))


def lateness(short: bool, answer: "multiprocessing.Queue[float]") -> None:
    """The p99 in milliseconds of how late it wakes up."""
    if short:
        assert interpreter.wake_soon()
    late, until = list[float](), time.monotonic() + SECONDS
    while time.monotonic() < until:
        began = time.perf_counter()
        time.sleep(SLEEP)
        late.append((time.perf_counter() - began - SLEEP) * 1000)
    answer.put(percentile(late, 0.99))


def measure(short: bool) -> float:
    answer: multiprocessing.Queue[float] = multiprocessing.Queue()
    sleeper = multiprocessing.Process(target=lateness, args=(short, answer))
    sleeper.start()
    p99 = answer.get(timeout=60)
    sleeper.join()
    return p99


def main() -> None:
    lines = ["a thread that sleeps 2 ms wakes up late by (p99, medians of rounds in turns):"]
    for number in (6, 16):
        others = [multiprocessing.Process(target=compute, daemon=True) for _ in range(number)]
        for each in others:
            each.start()
        pairs = [(measure(False), measure(True)) for _ in range(ROUNDS)]
        for each in others:
            each.kill()
        usual, short = (statistics.median(column) for column in zip(*pairs, strict=True))
        lines.append(
            f"beside {number:>2} that compute: {usual:.2f} ms, with short slices {short:.2f} ms"
            f"   ratio {short / usual:.2f}"
        )
    keep("slices", lines)


if __name__ == "__main__":
    main()
