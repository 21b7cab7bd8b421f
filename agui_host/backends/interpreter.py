"""How the interpreter serves a process that answers many at once: the same in web and worker."""

import ctypes
import gc
import os
import platform
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread keeps the interpreter while another wants it; by default ten times as
long. Each event of an open stream, and each commit, passes from one thread to another several
times: beside an agent that computes, a commit took 80 ms."""
SLICE = 100_000
"""Nanoseconds for which a thread on an event's way runs at once; by default some milliseconds."""
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
    gc.collect()
    gc.freeze()


def wake_soon() -> bool:
    """Ask the kernel for short slices for this thread; whether it takes notice of that.

    From Linux 6.12 on such a thread runs as soon as it wakes up, where others of the same priority
    compute; it gets no larger share, and needs no right for it. An event wakes up a thread at each
    hop, and waited each time for the slices of ten threads that answered other teams. Threads that
    this one starts have slices as usual.
    """
    if sys.platform != "linux" or (call := SCHED_SETATTR.get(platform.machine())) is None:
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    # struct sched_attr: its size, policy, flags, nice, priority, runtime, deadline, period, and
    # the least and the most use of the processor.
    attributes = struct.pack("IIQiIQQQII", 56, 0, RESET_ON_FORK, nice, 0, SLICE, 0, 0, 0, 0)
    returned: int = ctypes.CDLL(None).syscall(call, 0, attributes, 0)
    return returned == 0
