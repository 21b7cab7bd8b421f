"""Plays a recorded session of a command line tool, slowly; with a session's id, the rest of it."""

import sys
import time
from pathlib import Path

lines = Path(sys.argv[1]).read_text().splitlines()
progress = Path("progress")
at = int(progress.read_text()) if len(sys.argv) > 2 and progress.exists() else 0
for number, line in enumerate(lines):
    if number == 0 or number >= at:
        print(line, flush=True)
        progress.write_text(str(max(at, number + 1)))
        time.sleep(0.1)
