"""A migrated and seeded database: the first host of a process makes it, the others copy it.

To create, migrate and seed one takes several times as long as everything else that a host does when
it starts, and forty tests start a host of their own.
"""

import atexit
import shutil
import subprocess
import tempfile
from pathlib import Path

PARTS = ("postgres", "secret_key")
SHAPING = ("AGUI_AGENT", "AGUI_DATABASE", "AGUI_SECRET", "DATABASE_URL", "PYTHONPATH", "SECRET_KEY")
"""Settings that may change what is stored before the first request; with one, nothing is shared."""

_clusters: list[Path] = []


def is_shared(data: Path, settings: dict[str, str]) -> bool:
    """Whether a new host with these settings may take the database of another."""
    fresh = not (data / "postgres").exists()
    return fresh and not any(name.startswith(SHAPING) for name in settings)


def copy_to(data: Path) -> bool:
    """Copy the database; False if no host has made one yet. No engine may run on either."""
    for cluster in _clusters:
        _copy(cluster, data)
    return bool(_clusters)


def keep(data: Path) -> None:
    """Keep the database, whose server has stopped, for later hosts."""
    if (data / "postgres").is_symlink():
        return  # PostgreSQL could not reach the folder, and has its data elsewhere
    cluster = Path(tempfile.mkdtemp(prefix="agui-prepared-"))
    atexit.register(shutil.rmtree, cluster, ignore_errors=True)
    _copy(data, cluster)
    _clusters.append(cluster)


def _copy(one: Path, other: Path) -> None:
    # With its owner: PostgreSQL runs as somebody else if the tests run as root.
    subprocess.run(["cp", "-a", *(one / part for part in PARTS), other], check=True)
