"""How the interpreter serves a process that answers many at once: the same in web and worker."""

import ctypes
import gc
import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread keeps the interpreter while another wants it; by default ten times as
long. Each event of an open stream, and each commit, passes from one thread to another several
times: beside an agent that computes, a commit took 80 ms."""
SLICE = 100_000
"""Nanoseconds for which a thread on an event's way runs at once; by default some milliseconds."""
YOUNG = (700, 10)
"""Python's own thresholds for objects that are new."""
FULL, NEVER = 10, 2**30
"""The threshold for all objects while a full collection is due, and at other times."""
FULL_EVERY = 1.0
"""Seconds from one full collection to the next, at least."""
RESTS = 200
"""How many times as long the next full collection waits as this one spent on objects that stay."""
MMAP_THRESHOLD, TRIM_THRESHOLD, ARENAS = 1024 * 1024, 16 * 1024 * 1024, 2
"""A larger text has its own pages, which go back to the system with it; what else is free at the
end of a heap goes back above the second number. glibc raises both with each large text that is
freed, to 32 and 64 MB, for each of its heaps."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""The number of Linux's call, by machine."""
RESET_ON_FORK = 1


@contextmanager
def importing() -> Iterator[None]:
    """Look for no garbage while modules are imported: nearly all that they make stays.

    The collector took a fifth of the processor time in which a command or a web process starts.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def settle() -> None:
    """To be called by an event loop when everything is imported, and before anything is served.

    Objects that exist by then will never be garbage: a full collection over it took 90 ms.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    wake_soon()
    give_memory_back()
    gc.collect()
    gc.freeze()
    if not any(isinstance(each, Sparsely) for each in gc.callbacks):
        gc.callbacks.append(Sparsely())
        gc.set_threshold(*YOUNG, NEVER)


class Sparsely:
    """Lets a full collection happen seldom: nothing else runs while it looks at all objects.

    While agents' states of many values arrived, it happened ten times a second and took 60 ms each
    time, with six of them in memory. They hold no cycles, and are freed without it. Garbage is no
    reason to wait: a page of the runs list leaves 2,500 objects in cycles, and after a minute of
    such pages one collection stopped everything for 440 ms. To be one of ``gc.callbacks``.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = 0.0
        self._due = clock() + FULL_EVERY

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """Note the beginning or the end of a collection."""
        if info["generation"] < 2:
            if phase == "stop" and self._clock() >= self._due:
                gc.set_threshold(*YOUNG, FULL)
        elif phase == "start":
            self._began = self._clock()
        else:
            now, stayed = self._clock(), len(gc.get_objects(2))
            share = stayed / max(1, stayed + info["collected"])
            self._due = now + max(FULL_EVERY, RESTS * share * (now - self._began))
            gc.set_threshold(*YOUNG, NEVER)


def give_memory_back() -> bool:
    """Let the memory of large texts go back to the system; whether this is glibc, which can."""
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is None:
        return False
    bounds = (
        (M_MMAP_THRESHOLD, MMAP_THRESHOLD),
        (M_TRIM_THRESHOLD, TRIM_THRESHOLD),
        (M_ARENA_MAX, ARENAS),
    )
    done = [mallopt(name, value) == 1 for name, value in bounds]
    return all(done)


def wake_soon() -> bool:
    """Ask the kernel for short slices for this thread; whether it takes notice of that.

    From Linux 6.12 on such a thread runs as soon as it wakes up, where others of the same priority
    compute; it gets no larger share, and needs no right for it. An event wakes up a thread at each
    hop, and waited each time for the slices of ten threads that answered other teams. Threads that
    this one starts have slices as usual. A process that was started for idle times or as a batch
    stays that.
    """
    if sys.platform != "linux" or (call := SCHED_SETATTR.get(platform.machine())) is None:
        return False
    if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK != os.SCHED_OTHER:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    # struct sched_attr: its size, policy, flags, nice, priority, runtime, deadline, period, and
    # the least and the most use of the processor.
    attributes = struct.pack("IIQiIQQQII", 56, 0, RESET_ON_FORK, nice, 0, SLICE, 0, 0, 0, 0)
    returned: int = ctypes.CDLL(None).syscall(call, 0, attributes, 0)
    return returned == 0
