"""A process hands the interpreter over soon, wakes up soon, and does not collect its imports."""

import gc
import platform
import subprocess
import sys

from agui_host.backends import interpreter

CODE = """
import gc, sys
from agui_host.backends import interpreter
imported = len(gc.get_objects())
interpreter.settle()
print(sys.getswitchinterval(), len(gc.get_objects()) < imported / 10)
"""


def test_what_is_imported_is_frozen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0.0005", "True"]


SLICES = """
import ctypes, platform, struct
from concurrent.futures import ThreadPoolExecutor
from agui_host.backends import interpreter
def slice():
    attributes = ctypes.create_string_buffer(56)
    number = interpreter.SCHED_SETATTR[platform.machine()] + 1  # sched_getattr
    assert ctypes.CDLL(None).syscall(number, 0, attributes, 56, 0) == 0
    return struct.unpack("IIQiIQQQII", attributes.raw)[5]
before = slice()
print(interpreter.wake_soon())
with ThreadPoolExecutor(1) as threads:
    print(slice(), threads.submit(slice).result() == before)
"""


def test_a_thread_that_events_wake_has_short_slices() -> None:
    """Its own threads have not; Linux before 6.12 takes no notice."""
    done = subprocess.run(
        [sys.executable, "-c", SLICES], capture_output=True, text=True, check=True, timeout=60
    )
    release = tuple(map(int, platform.release().split("-")[0].split(".")[:2]))
    if release >= (6, 12):
        assert done.stdout.split() == ["True", str(interpreter.SLICE), "True"]


FOR_IDLE_TIMES = """
import os
from agui_host.backends import interpreter
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(interpreter.wake_soon(), os.sched_getscheduler(0) == os.SCHED_IDLE)
"""


def test_a_process_for_idle_times_stays_that() -> None:
    """Whoever started it with chrt, or by a unit's CPUSchedulingPolicy, wants it to give way."""
    if sys.platform != "linux":
        return
    command = [sys.executable, "-c", FOR_IDLE_TIMES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]


SPARSELY = """
import gc
from agui_host.backends import interpreter
interpreter.settle()
before = gc.get_stats()[2]["collections"]
states = [[[] for _ in range(100_000)] for _ in range(10)]
print(gc.get_stats()[2]["collections"] - before)
"""


def test_states_of_many_values_are_not_looked_through_again_and_again() -> None:
    """Nothing else runs during a full collection, which takes longer with each state."""
    done = subprocess.run(
        [sys.executable, "-c", SPARSELY], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0"]


def test_a_full_collection_is_due_after_a_while_and_later_if_it_took_long() -> None:
    now, thresholds = 1_000.0, gc.get_threshold()
    old = [[each] for each in range(1_000)]
    gc.collect()  # Now they are old. All older ones can be frozen, and then nothing stays.
    assert len(gc.get_objects(2)) > len(old)
    collected = interpreter.Sparsely(lambda: now)

    def due() -> bool:
        gc.set_threshold(*interpreter.YOUNG, interpreter.NEVER)
        collected("stop", {"generation": 1})
        return gc.get_threshold()[2] == interpreter.FULL

    def full(garbage: int) -> None:
        nonlocal now
        collected("start", {"generation": 2, "collected": 0})
        now += 1.0
        collected("stop", {"generation": 2, "collected": garbage})
        assert gc.get_threshold()[2] == interpreter.NEVER

    try:
        assert not due()
        now += interpreter.FULL_EVERY
        assert due()
        full(0)
        now += interpreter.RESTS - 1
        assert not due()
        now += 1
        assert due()
        full(10_000 * len(gc.get_objects(2)))  # nearly all of it was garbage
        now += interpreter.FULL_EVERY
        assert due()
    finally:
        gc.set_threshold(*thresholds)


TEXTS = """
from concurrent.futures import ThreadPoolExecutor
from agui_host.backends import interpreter
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
kept = []
def read(number):
    texts = []
    for turn in range(8):
        texts.append(b"x" * (2_000_000 + 500_000 * ((number + turn) % 9)))
        kept.append(bytes(3_000))
print(interpreter.give_memory_back())
before = resident()
with ThreadPoolExecutor(8) as threads:
    list(threads.map(read, range(64)))
    print(resident() - before)
"""


def test_the_memory_of_texts_goes_back_with_them() -> None:
    """By default glibc keeps most of these, in the heaps of eight threads."""
    done = subprocess.run(
        [sys.executable, "-c", TEXTS], capture_output=True, text=True, check=True, timeout=60
    )
    does, left = done.stdout.split()
    is_glibc = platform.libc_ver()[0] == "glibc"
    assert does == str(is_glibc)
    assert not is_glibc or int(left) < 40_000_000
