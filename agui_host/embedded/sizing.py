"""PostgreSQL's memory and log of the embedded engine, by the size of the machine.

PostgreSQL's own defaults are for the smallest machine: with 128 MB of buffers, a database of a few
gigabytes reads its indexes from the disk again and again, and with 1 GB of log a steady load makes
checkpoints back to back, after each of which every page is logged whole once more.
"""

import os
import shutil
from pathlib import Path

MB = 2**20
BUFFERS = (128 * MB, 2048 * MB)
"""At least and at most, of an eighth of the memory: web and workers are on the same machine."""
LOG = (1024 * MB, 4096 * MB)
"""At least and at most, of a twentieth of the free space."""
CONTAINER = Path("/sys/fs/cgroup/memory.max")


def settings(data: Path) -> list[str]:
    """PostgreSQL's settings for a cluster in this directory, as ``name=value``."""
    return [
        f"shared_buffers={_within(BUFFERS, memory() // 8) // MB}MB",
        f"max_wal_size={_within(LOG, shutil.disk_usage(data).free // 20) // MB}MB",
    ]


def memory() -> int:
    """Bytes of memory of the machine, or of the container if that has less."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(CONTAINER.read_text()))
    except (OSError, ValueError):  # no such limit: "max"
        return machine


def _within(bounds: tuple[int, int], size: int) -> int:
    least, most = bounds
    return min(max(size, least), most)
