"""Finds embedded databases whose data directory is gone. Only a start as root keeps any outside it.

A file next to each cluster names its data directory; each start writes it. Clusters of versions
that wrote no such file count as unknown, and are never removed unless asked for.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from agui_host.embedded import child, paths

PREFIX = "data-"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in the shelter: its directory, and its data directory if known."""

    place: Path
    data: Path | None

    @property
    def running(self) -> bool:
        """Whether a server runs on it, or is about to."""
        try:
            pid = int((self.place / "postgres" / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return False
        return child.runs(pid, f"-D {self.place / 'postgres'} ")

    @property
    def used(self) -> float:
        """When a server last started or stopped there, in seconds since 1970."""
        times = [
            path.stat().st_mtime
            for path in (self.place, *(self.place / "postgres").glob("global/pg_control"))
        ]
        return max(times)

    def size(self) -> int:
        """Its size on disk in bytes."""
        total = 0
        for folder, _, files in os.walk(self.place):
            total += sum(os.lstat(os.path.join(folder, name)).st_blocks * 512 for name in files)
        return total

    def remove(self) -> None:
        """Delete it, unless its data directory exists or its server is running by now."""
        if not self.running and not (self.data and os.path.lexists(self.data)):
            shutil.rmtree(self.place)


def clusters() -> list[Cluster]:
    """Clusters that seem unused: their data directory is gone or unknown."""
    abandoned: list[Cluster] = []
    for shelter in paths.SHELTERS:
        if not os.access(shelter, os.R_OK | os.X_OK):
            continue
        for place in sorted(shelter.glob(f"{PREFIX}*")):
            cluster = Cluster(place, _recorded(place))
            gone = cluster.data is None or not os.path.lexists(cluster.data)
            if place.is_dir() and not place.is_symlink() and gone and not cluster.running:
                abandoned.append(cluster)
    return abandoned


def notice() -> str | None:
    """A log line about them for an account that can remove them, or None."""
    gone = [cluster for cluster in clusters() if cluster.data] if os.geteuid() == 0 else []
    if not gone:
        return None
    folders = ", ".join(sorted({str(cluster.place.parent) for cluster in gone}))
    return (
        f"{len(gone)} embedded database{'s' * (len(gone) > 1)} in {folders} belong to data "
        "directories that are gone; the command remove-abandoned lists and removes them"
    )


def _recorded(place: Path) -> Path | None:
    try:
        text = (place / paths.RECORD).read_text().strip()
    except OSError:
        return None
    return Path(text) if text else None
