"""Database clusters that later runs start from, kept until something that shapes them changes.

Creating a cluster and migrating a database takes ten times as long as copying the result. The
first run keeps its cluster in the environment's folder under a name that hashes the migrations and
everything else that decides what is in it. A run migrates its copy again, so that a step which the
hash does not cover is still carried out.
"""

import fcntl
import functools
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(sys.prefix) / "agui-clusters" if sys.prefix != sys.base_prefix else None
PACKAGES = ("agui_host", "agui_project", "events", "runs")
SHAPES = (
    "*/migrations/*.py", "*/sql/*.sql",
    "agui_host/embedded/engines.py", "agui_host/teams/management/commands/migrate.py",
    "agui_host/teams/management/recorded.py",
    "agui_host/teams/row_security.py", "events/partitions.py",
    "agui_host/backends/postgres/functions/*.py", "agui_host/frameworks/checkpoints.py",
    "runs/models/texts/pieced_text.py", "agui_host/teams/models/team.py",
)  # fmt: skip
"""Our files that decide what is in a migrated database."""
LIMIT = 8
VERSION = "TESTS_CLUSTER"
"""An environment variable: the version to start from; migrating makes it current, none is kept."""


@functools.cache
def of_tests() -> "Cluster":
    """The cluster with the migrated test database."""
    return Cluster("tests", os.environ.get(VERSION) or version(migrations()))


@functools.cache
def of_hosts(seed: str) -> "Cluster":
    """The cluster of a host after ``seed``, whose rows any of our modules may have shaped."""
    return Cluster("hosts", version(_sources(), seed), ("postgres", "secret_key"))


def of_servers(seed: str, settings: Mapping[str, str]) -> "Cluster":
    """The same of a host with these settings whose PostgreSQL is a server in ``servers``."""
    made_by = version(_sources(), seed, repr(sorted(settings.items())))
    return Cluster("servers", made_by, ("servers", "secret_key"))


def _sources() -> set[Path]:
    sources = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    return migrations() | sources


class Cluster:
    """One kind of cluster, in the version that this checkout makes."""

    def __init__(self, kind: str, version: str, parts: tuple[str, ...] = ("postgres",)) -> None:
        """``parts`` of a data directory are kept."""
        self.version, self.name = version, f"{kind}-{version}"
        self.parts = parts

    def exists(self) -> bool:
        """Whether a run has kept it."""
        return FOLDER is not None and (FOLDER / self.name).is_dir()

    def copy_to(self, data: Path) -> bool:
        """Copy it into a data directory without one; False if no run has kept it yet."""
        with _locked(fcntl.LOCK_SH) as folder:
            if folder is None or not self.exists():
                return False
            os.utime(folder / self.name)  # the newest stay
            _copy(folder / self.name, data, self.parts)
            return True

    def keep(self, data: Path) -> bool:
        """Keep this data directory's cluster, whose server has stopped; False if impossible."""
        if VERSION in os.environ:
            return False
        if (data / "postgres").is_symlink():
            return False  # PostgreSQL could not reach the folder, and has its data elsewhere
        with _locked(fcntl.LOCK_EX) as folder:
            if folder is None:
                return False
            if not self.exists():  # another process may have been faster
                draft = folder / "draft"
                shutil.rmtree(draft, ignore_errors=True)
                draft.mkdir()
                try:
                    _copy(data, draft, self.parts)
                    draft.rename(folder / self.name)
                finally:
                    shutil.rmtree(draft, ignore_errors=True)
            _forget_old(folder)
            return True


def _forget_old(folder: Path) -> None:
    newest = sorted(folder.glob("*-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[LIMIT:]:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(how: int) -> Iterator[Path | None]:
    """The folder, while we hold its lock; None if there is none that we can write to."""
    try:
        if FOLDER is None:
            raise FileNotFoundError
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(FOLDER / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(descriptor, how)
        yield FOLDER
    finally:
        os.close(descriptor)


def _copy(one: Path, other: Path, parts: tuple[str, ...]) -> None:
    # With its owner: PostgreSQL runs as another account if the tests run as root.
    sources = [one / part for part in parts]
    try:
        subprocess.run(["cp", "-a", *sources, other], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise OSError(error.stderr) from None


def migrations() -> set[Path]:
    """Our files that decide what is in a migrated database."""
    return {
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.*")
        if any(path.relative_to(ROOT).match(pattern) for pattern in SHAPES)
    }


def version(files: set[Path], *more: str) -> str:
    """Another one whenever a cluster could come out differently."""
    digest = hashlib.sha256()
    for name, path in sorted((os.path.relpath(path, ROOT), path) for path in files):
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    # The versions of packages stand for other people's migrations and for PostgreSQL, for which a
    # setting may name another one. Partitions are made for months from today.
    installed = sorted((d.name, d.version) for d in importlib.metadata.distributions())
    settings = {
        k: v for k, v in os.environ.items() if k.startswith("AGUI_") and k != "AGUI_DATA_DIR"
    }
    today = f"{datetime.now(UTC):%Y-%m}"
    digest.update(repr([installed, sorted(settings.items()), today, os.geteuid(), more]).encode())
    return digest.hexdigest()[:16]
