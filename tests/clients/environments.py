"""Environments of their own for programs whose dependencies exclude the host's."""

import subprocess
import sys
import venv
from pathlib import Path

from tests.acceptance.host import ROOT
from tests.needs import missing


def programs(name: str, lock: Path) -> Path:
    """Where the programs of an environment are that has what ``lock`` pins; made if it is new."""
    place = ROOT / ".venv" / "peers" / name
    stamp = place / ".stamp"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        venv.create(place, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
        install = [*pip, "install", "-q", "--no-input", "--require-hashes", "-r", str(lock)]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"{name} cannot be installed: {done.stderr[-400:]}")
        stamp.touch()
    return place / "bin"
