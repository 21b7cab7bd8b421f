"""Environments of their own for programs whose dependencies exclude the host's."""

import subprocess
import sys
from pathlib import Path

from tests.acceptance.host import ROOT
from tests.needs import missing
from tests.suite import locked


def environment(name: str, lock: Path, python: str = sys.executable) -> Path:
    """The ``bin`` of an environment that has what ``lock`` pins; made if it is new."""
    place = ROOT / ".venv" / "peers" / name
    stamp = place / ".stamp"
    with locked.alone(place):
        if not locked.is_installed(stamp, lock):
            pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
            install = [
                *pip, "install", "-q", "--no-input", "--no-compile", "--no-deps",
                "--require-hashes", "-r", str(lock),
            ]  # fmt: skip
            for command in ([python, "-m", "venv", "--clear", str(place)], install):
                subprocess.run(command, capture_output=True, text=True, check=True)
            locked.note(stamp, lock)
    return place / "bin"


def programs(name: str, lock: Path, python: str = sys.executable) -> Path:
    """The same for a test, which cannot run without it."""
    try:
        return environment(name, lock, python)
    except subprocess.CalledProcessError as error:
        missing(f"{name} cannot be installed: {error.stderr[-400:]}")
