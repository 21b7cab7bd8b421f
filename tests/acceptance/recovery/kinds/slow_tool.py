"""Plays a recorded session of a command line tool, slowly; with a session's id, the rest of it.

A resumed tool asks its model again, so the rest begins with a message and not in the middle of one.
"""

import json
import sys
import time
from pathlib import Path

MESSAGE = ("stream_event", "assistant")
"""The lines of Claude's session that belong to a message of its model."""
lines = Path(sys.argv[1]).read_text().splitlines()
progress = Path("progress")
at = int(progress.read_text()) if len(sys.argv) > 2 and progress.exists() else 0
is_cut = at > 0
for number, line in enumerate(lines):
    if 0 < number < at:
        continue
    event = json.loads(line)
    is_cut = is_cut and event.get("event", {}).get("type") != "message_start"
    if is_cut and event["type"] in MESSAGE:
        continue
    print(line, flush=True)
    draft = progress.with_suffix(".new")  # A kill leaves the old number or this one.
    draft.write_text(str(max(at, number + 1)))
    draft.replace(progress)
    time.sleep(0.1)
