"""The processor time of a command with everything that it starts, servers included.

``python3 -m tests.suite.processor .venv/bin/python -m pytest -n0 tests/scim``. A process that
outlives its parent becomes a child of this one, so that the sum misses none. On a machine that also
does other work, only such sums can be compared. Without other packages, on Linux.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")


def measure(command: list[str]) -> tuple[int, float, Counter[str]]:
    """Exit status, seconds by the clock, and processor seconds by program."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begin = time.monotonic()
    main = subprocess.Popen(command)
    status, by_program = 0, Counter[str]()
    while True:
        try:
            child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return status, time.monotonic() - begin, by_program
        assert child
        stat = Path(f"/proc/{child.si_pid}/stat").read_text()
        name, fields = stat.partition("(")[2].rpartition(") ")[::2]
        user, system, user_of_children, system_of_children = map(int, fields.split()[11:15])
        by_program[name] += (user + system) / TICKS
        by_program[f"children of {name}"] += (user_of_children + system_of_children) / TICKS
        if child.si_pid == main.pid:
            status = main.wait()
        else:
            os.waitpid(child.si_pid, 0)


def main() -> int:
    """Run the command, then print the sums."""
    status, seconds, by_program = measure(sys.argv[1:])
    for name, processor in by_program.most_common():
        print(f"{processor:9.1f} s of processors  {name}", file=sys.stderr)
    total = sum(by_program.values())
    print(f"{total:9.1f} s of processors in {seconds:.1f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
