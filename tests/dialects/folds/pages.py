"""The folds of our pages, which are JavaScript: one process of Node answers for all examples."""

import atexit
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.needs import need

SCRIPT = Path(__file__).with_suffix(".mjs")


def page(**members: Any) -> Any:
    """What a page shows of these ``events``, or of ``rows`` of an outline and ``messages``."""
    process = _node()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(members) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, "its error is above"
    return json.loads(line)


@cache
def _node() -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    process = subprocess.Popen([need("node"), SCRIPT], stdin=pipe, stdout=pipe, encoding="utf-8")
    atexit.register(_end, process)
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    with process:  # closes its pipes and waits
        process.kill()
