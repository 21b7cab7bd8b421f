"""Sums of processor time miss no process."""

import re
import subprocess
import sys

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
ORPHAN = f"""
import os, sys
if os.fork():
    sys.exit(3)  # its child goes on
os.setsid()
os.execv(sys.executable, [sys.executable, "-S", "-c", {BUSY!r}])
"""


def test_a_process_that_outlives_its_parent_is_counted() -> None:
    command = [sys.executable, "-S", "-c", ORPHAN]
    done = subprocess.run(
        [sys.executable, "-m", "tests.suite.processor", *command],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    total = re.search(r"([\d.]+) s of processors in", done.stderr)
    assert total, done.stderr
    assert float(total[1]) >= 0.3
