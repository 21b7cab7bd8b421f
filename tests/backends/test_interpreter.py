"""A process hands the interpreter over soon, wakes up soon, and does not collect its imports."""

import platform
import subprocess
import sys

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
        assert done.stdout.split() == ["True", "100000", "True"]
