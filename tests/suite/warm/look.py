"""``python -m tests.suite.warm.look HOW``: shows what a process sees of itself, and ends by HOW."""

import atexit
import json
import os
import signal
import sys
import threading
import time

how = sys.argv[1]
atexit.register(print, "at exit")
stop = threading.Event()
threading.Thread(target=lambda: stop.wait() and print("in a thread")).start()
handlers = [str(signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
view = {
    "arguments": sys.argv, "first": sys.path[0], "folder": os.getcwd(), "name": __name__,
    "environment": dict(os.environ), "leads": os.getsid(0) == os.getpid(), "handlers": handlers,
    "input": sys.stdin.read(), "zone": time.tzname, "threads": threading.active_count(),
    "open": sorted(set(os.listdir("/proc/self/fd")) - {"3", "4"}),
    "ours": sorted(m for m in sys.modules if m.startswith(("agui_", "events", "runs"))),
}  # fmt: skip
print(json.dumps(view))
print("an error", file=sys.stderr)
if how == "wait":
    sys.stdout.flush()
    time.sleep(600)
stop.set()
if how == "exit":
    sys.exit(3)
if how == "raise":
    raise RuntimeError("on purpose")
