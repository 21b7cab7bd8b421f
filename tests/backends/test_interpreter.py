"""A process hands the interpreter over soon, and does not collect what was imported."""

import subprocess
import sys

CODE = """
import gc, sys
from backends import interpreter
imported = len(gc.get_objects())
interpreter.settle()
print(sys.getswitchinterval(), len(gc.get_objects()) < imported / 10)
"""


def test_what_is_imported_is_frozen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0.0005", "True"]
