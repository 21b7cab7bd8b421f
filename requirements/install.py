"""`make`'s pip: installs a lock file and says every two seconds how far it is.

    python requirements/install.py requirements/run.lock

Standard library only: it runs in an environment that holds nothing yet.
"""

import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

EVERY = 2.0  # seconds between two lines
PIP = [
    sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install",
    "--progress-bar", "off", "--require-hashes", "-r",
]  # fmt: skip
COLLECTING = re.compile(r"Collecting ([\w.\[\]-]+)")
# A machine may name indexes that lack a package, and pip warns of each.
WORTH = re.compile(r"ERROR|error:|Error")


def install(lock: Path, command: Sequence[str] = (), every: float = EVERY) -> int:
    """Run pip on ``lock``; its exit code. What it said comes out only if it failed."""
    total = len(re.findall(r"^[\w.\[\]-]+==", lock.read_text(), re.MULTILINE))
    began, state = time.monotonic(), {"collected": 0, "now": "asking the package index"}
    over = threading.Event()

    def tell() -> None:
        while not over.wait(every):
            seconds = time.monotonic() - began
            print(f"  {state['collected']} of {total}: {state['now']}, {seconds:.0f} s", flush=True)

    last: deque[str] = deque(maxlen=30)
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    with subprocess.Popen(  # noqa: S603  (our own command line)
        [*(command or PIP), str(lock)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in pip.stdout or ():
            last.append(line)
            if match := COLLECTING.match(line):
                state.update(collected=int(state["collected"]) + 1, now=f"downloading {match[1]}")
            elif line.startswith("Installing collected packages"):
                state.update(collected=total, now="writing files")
    over.set()
    teller.join()
    if pip.returncode:
        sys.stderr.writelines(line for line in last if WORTH.search(line) or len(last) < 5)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1])))
