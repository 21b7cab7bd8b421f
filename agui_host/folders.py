"""The host's own files: next to the rooms in a clone, in this package if installed."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = (Path(__file__).resolve().parent / "templates").is_dir()
FILES = Path(__file__).resolve().parent if INSTALLED else ROOT
"""Contains ``templates/``, ``static/``, ``docs/`` and ``README.md``."""


def data_dir() -> Path:
    """``AGUI_DATA_DIR``, absolute; by default ``.data`` in the clone.

    An installed host keeps its data in the user's data directory: every command finds the same one,
    wherever it is called.
    """
    if configured := os.environ.get("AGUI_DATA_DIR", "").strip():
        return Path(configured).absolute()
    if not INSTALLED:
        return ROOT / ".data"
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home).absolute() / "agui-run-host"
