"""Real PostgreSQL and Valkey without an installation: the servers of a fresh clone.

``DATABASE_URL`` and ``REDIS_URL`` (also an empty one) switch each of them off. Settings only need
their addresses, which are computed; ``manage.py`` and the tests start the engines with ``ensure``.
"""

import atexit
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from agui_host.embedded import child, ownership, paths
from agui_host.embedded.engine import Engine, EngineBusy
from agui_host.embedded.engines import Postgres, Valkey
from agui_host.embedded.paths import EngineFailed, secret_key
from agui_host.folders import data_dir

__all__ = [
    "COMMANDS_WITHOUT_ENGINES",
    "EngineBusy",
    "EngineFailed",
    "Engines",
    "data_dir",
    "database",
    "ensure",
    "own_engines",
    "secret_key",
    "start",
    "valkey_url",
]

# Without `makemigrations`: it compares with the database and waits 10 s for a missing one.
COMMANDS_WITHOUT_ENGINES = frozenset(
    {
        "-h", "--help", "--version", "check", "collectstatic", "compilemessages",
        "diffsettings", "findstatic", "help", "makemessages", "remove_abandoned", "replay",
        "sendtestemail", "show_permissions", "spectacular", "startapp", "startproject", "supervise",
        "test", "testserver", "up", "version",
    }
)  # fmt: skip
ATTACH = 60.0


def database(data: Path) -> dict[str, Any]:
    """The address of ``data``'s embedded PostgreSQL, as a Django database without ENGINE."""
    return {
        "NAME": "postgres",
        "USER": "postgres",
        "PASSWORD": "",
        "HOST": str(paths.socket_dir(data)),
        "PORT": "5432",
    }


def valkey_url(data: Path) -> str:
    """The address of ``data``'s embedded Valkey: ``unix:///short/path``."""
    return f"unix://{paths.socket_dir(data) / 'valkey'}"


class Wanted(TypedDict):
    """Which engines to run, as keyword arguments of ``start``."""

    postgres: bool
    valkey: bool


def own_engines() -> Wanted:
    """The engines for which the environment names no other server."""
    return {
        "postgres": not os.environ.get("DATABASE_URL", "").strip(),
        "valkey": "REDIS_URL" not in os.environ,  # Empty: none, PostgreSQL does its work.
    }


class Engines:
    """The engines that this process runs, without those of another process."""

    def __init__(self) -> None:
        self._running: dict[str, Engine] = {}
        self._owner = os.getpid()

    @property
    def postgres(self) -> subprocess.Popen[bytes] | None:
        """The process of PostgreSQL; None if it is not ours or not running."""
        return self._process("postgres")

    @property
    def valkey(self) -> subprocess.Popen[bytes] | None:
        """The process of Valkey; None if it is not ours or not running."""
        return self._process("valkey")

    def add(self, engine: Engine) -> None:
        """Start an engine whose lock we hold and keep it."""
        try:
            engine.start()
        except BaseException:
            engine.stop()
            raise
        self._running[engine.name] = engine

    def start_postgres(self) -> None:
        """Start PostgreSQL and wait until it answers. Raises EngineFailed."""
        self._running["postgres"].start()

    def stop_postgres(self) -> None:
        """Stop PostgreSQL and keep its lock, so that ``start_postgres`` can follow."""
        self._running["postgres"].halt()

    def start_valkey(self) -> None:
        """Start Valkey and wait until it answers. Raises EngineFailed."""
        self._running["valkey"].start()

    def stop_valkey(self) -> None:
        """Stop Valkey and keep its lock, so that ``start_valkey`` can follow."""
        self._running["valkey"].halt()

    def revive(self) -> list[str]:
        """Restart engines that died by themselves, without waiting; returns news for the log."""
        news = [engine.revive() for engine in self._running.values() if engine.started]
        return [line for line in news if line]

    def stop(self) -> None:
        """Stop the running engines; a second call, or one in a forked child, does nothing."""
        if os.getpid() == self._owner:
            while self._running:
                self._running.popitem()[1].stop()

    def _process(self, name: str) -> subprocess.Popen[bytes] | None:
        engine = self._running.get(name)
        return engine.process if engine else None


def _engines(
    data: Path, postgres: bool, valkey: bool, postgres_options: Sequence[str]
) -> list[Engine]:
    chosen: list[Engine] = [Valkey(data)] if valkey else []
    return [*chosen, Postgres(data, postgres_options)] if postgres else chosen


def start(
    data: Path, postgres: bool = True, valkey: bool = True, *, postgres_options: Sequence[str] = ()
) -> Engines:
    """Start the engines of ``data`` and wait until they answer.

    Raises EngineBusy if another process runs one of them, EngineFailed if one does not start.
    """
    engines = Engines()
    if (postgres or valkey) and (foreign := ownership.problem(data)):
        raise EngineFailed(foreign)
    paths.make(data)
    try:
        for engine in _engines(data, postgres, valkey, postgres_options):
            if not engine.claim():
                raise EngineBusy(
                    f"AGUI_DATA_DIR: process {engine.holder()} already runs the {engine.name} of "
                    f"{data}. Stop it, or name another directory."
                )
            engines.add(engine)
    except BaseException:
        engines.stop()
        raise
    return engines


def ensure() -> Engines:
    """Make sure that our engines run until this process exits.

    Engines that another process of the same data directory runs are used as they are.
    """
    engines, ours = Engines(), own_engines()
    if not any(ours.values()):
        return engines  # Nothing is written: the account might have no place for it.
    data = data_dir()
    chosen = _engines(data, **ours, postgres_options=())
    if foreign := ownership.problem(data):
        if all(engine.runs_elsewhere() for engine in chosen):
            return engines
        raise EngineFailed(foreign)
    atexit.register(engines.stop)
    paths.make(data)
    for engine in chosen:
        # The lock's holder might be starting it, or dying: whichever happens first decides.
        if not child.wait_until(lambda e=engine: e.claim() or e.runs_elsewhere(), ATTACH):  # type: ignore[misc]
            raise EngineBusy(
                f"AGUI_DATA_DIR: process {engine.holder()} holds the {engine.name} of {data}, but "
                "it does not answer. Stop it, or name another directory."
            )
        if engine.claimed:
            engines.add(engine)
    return engines
