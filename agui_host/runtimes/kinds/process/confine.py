"""Confines commands, away from the host's own files and processes: bubblewrap, or a uid each.

Bubblewrap shows the command a read-only file system without the data directory, the embedded
engines' sockets, ``/run`` and everybody's ``/tmp``, and no processes but its own. Without it a
worker that is root starts each directory's commands under a unique uid. A worker with
neither runs only agents that an operator has marked ``unconfined``.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from agui_host.embedded import paths
from agui_host.runtimes.kinds.process.place import Place

UIDS = 0x70000000
"""The first of 2**28 uids that no distribution, container tool or systemd assigns."""
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
TRIAL_SECONDS = 10.0


class Means(StrEnum):
    """How a command is confined on this machine."""

    BUBBLEWRAP = "bubblewrap"
    UID = "uid"
    NONE = "none"


@lru_cache(maxsize=8)
def means(data: Path) -> Means:
    """The best means that works here, found by trying: presence proves nothing.

    User namespaces can be off, and a directory above ``data`` can be closed to other accounts.
    """
    if not sys.platform.startswith("linux"):
        return Means.NONE
    paths.make(data)
    if shutil.which("bwrap"):
        with tempfile.TemporaryDirectory(prefix="agui-confine-") as folder:
            place = Place(Path(folder).resolve(), True).made()
            if _succeeds(*bubblewrap(place, data), "true"):
                return Means.BUBBLEWRAP
    if os.geteuid() == 0 and _succeeds("/bin/sh", "-c", 'cd -- "$1"', "sh", str(data), user=UIDS):
        return Means.UID
    return Means.NONE


def uid_of(place: Place) -> int:
    """The uid of a directory's commands: 28 bits of its unguessable name."""
    return UIDS + int(hashlib.sha256(place.root.name.encode()).hexdigest()[:7], 16)


def bubblewrap(place: Place, data: Path, cwd: Path | None = None) -> list[str]:
    """The words in front of a command that works in ``cwd``, by default ``place.work``.

    It can write only to ``place``, and never to memory-backed files.
    """
    hidden = [folder for folder in _hidden(data) if folder.is_dir()]
    words = [
        "bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
        "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    ]  # fmt: skip
    for name in TEMPORARY:
        if Path(name).is_dir():
            words += ["--bind", str(place.tmp), name]
    for folder in hidden:
        words += ["--tmpfs", str(folder)]
    names = Path("/etc/resolv.conf").resolve()  # systemd keeps it in /run
    if names.is_relative_to("/run") and names.is_file():
        words += ["--ro-bind", str(names), str(names)]
    for folder in (place.work, place.home, place.tmp):
        words += ["--bind", str(folder), str(folder)]
    for folder in (*hidden, Path("/dev")):
        words += ["--remount-ro", str(folder)]
    return [*words, "--chdir", str(cwd or place.work), "--"]


def _hidden(data: Path) -> list[Path]:
    # An older name of the same directory must not lead around the mount.
    return [Path("/run").resolve(), data.resolve(), paths.socket_dir(data), *paths.SHELTERS]


def _succeeds(*command: str, user: int | None = None) -> bool:
    groups: list[int] | None = None if user is None else []
    try:
        done = subprocess.run(  # noqa: S603
            command, user=user, group=user, extra_groups=groups, cwd="/", timeout=TRIAL_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
