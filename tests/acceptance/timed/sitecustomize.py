"""On PYTHONPATH, each process of a host notes the callbacks that held up its event loop.

A callback's time is the processor time of the loop's thread, so that other processes of a busy
machine do not count. uvloop has no hook for that, so the standard's loop takes its place.
"""

import asyncio
import json
import os
import sys
import threading
import time
import types
from typing import Any

LEAST = 0.005
"""Seconds from which a callback is noted."""
_run = asyncio.Handle._run


def _timed(handle: asyncio.Handle) -> Any:
    began = time.thread_time()
    try:
        return _run(handle)
    finally:
        took = time.thread_time() - began
        if took > LEAST and threading.current_thread() is threading.main_thread():
            note = {"process": os.environ.get("PGAPPNAME"), "seconds": took, "what": repr(handle)}
            with open(os.environ["LOOP_NOTES"], "a") as notes:
                notes.write(json.dumps(note) + "\n")


if "LOOP_NOTES" in os.environ:
    asyncio.Handle._run = _timed  # type: ignore[method-assign]
    standard: Any = types.ModuleType("uvloop")
    standard.new_event_loop = asyncio.SelectorEventLoop
    sys.modules["uvloop"] = standard
