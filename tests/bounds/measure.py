"""Runs cases of the table, each in a process of its own, and writes what each took as JSON.

    python -m tests.bounds.measure [NAME …]

``lag`` is the longest time that the event loop was held up, in seconds of this process's own
work, so that a busy machine does not count, on a machine where the standard's loop takes 1 ms;
``memory`` how far the peak of the resident memory lies above what it was with the input made, in
bytes.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from tests.bounds.cases import CASES, Case

TICK = 0.005
CPU = 20
"""Seconds after which the kernel ends a case: it may hold the interpreter for ever."""


def main(names: list[str]) -> None:
    """Measure these cases, or all of them."""
    gc.collect()
    gc.freeze()  # else each child walks, and so copies, all that Django has loaded
    for name in names or CASES:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 1))
            text = json.dumps(asyncio.run(measured(CASES[name])))
            os.write(writing, text.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            outcome = pipe.read()
        _, _, used = os.wait4(child, 0)
        print(json.dumps([name, json.loads(outcome or "null")]), flush=True)
        if sys.stderr.isatty() or "AGUI_BOUNDS_CPU" in os.environ:
            print(f"{used.ru_utime + used.ru_stime:.2f} s {name}", file=sys.stderr)


async def measured(case: Case) -> dict[str, Any]:
    """What one case took."""
    value = case.make()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = memory("VmRSS")
    slowness = loop_milliseconds()
    gaps = [0.0]
    watching = asyncio.create_task(watch(gaps))
    await asyncio.sleep(3 * TICK)
    error = ""
    try:
        await case.run(value)
    except case.refused as refused:
        error = f"{type(refused).__name__}: {refused}"[:200]
    except Exception as unexpected:
        error = f"unexpected {type(unexpected).__name__}: {unexpected}"[:400]
    await asyncio.sleep(3 * TICK)
    watching.cancel()
    slowness = max(slowness, loop_milliseconds())  # a neighbour on the same core slows a part
    return {
        "lag": max(gaps) / slowness,
        "memory": memory("VmHWM") - before,
        "size": case.size,
        "error": error,
    }


async def watch(gaps: list[float]) -> None:
    """How long each turn of the loop takes."""
    while True:
        wall, work = time.perf_counter(), time.process_time()
        await asyncio.sleep(TICK)
        gaps.append(min(time.perf_counter() - wall - TICK, time.process_time() - work))


def loop_milliseconds() -> float:
    """This thread's work, in milliseconds, for the loop that the standards calibrate by."""
    turns = 5
    # With a limit of the processor's time, that of a process only moves with the kernel's ticks.
    began = time.thread_time()
    for _ in range(turns):
        sum(range(100_000))
    return (time.thread_time() - began) / turns * 1000


def memory(name: str) -> int:
    """A line of this process's status, in bytes."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(sys.argv[1:])
