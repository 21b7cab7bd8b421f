"""Debian's PgBouncer in front of an embedded PostgreSQL."""

import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from agui_host.embedded import child, paths
from tests import needs
from tests.acceptance.host import free_port, wait_for

CONFIG = """
[databases]
* = host={host} port={to}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
admin_users = postgres
pool_mode = {mode}
default_pool_size = {size}
ignore_startup_parameters = {ignored}
"""
USERS = '"postgres" ""\n"postgres_app" ""\n'


class PgBouncer:
    """A pooler on a loopback port for the server at ``host``, which may be its socket's folder."""

    def __init__(
        self, folder: Path, host: Path | str, to: int = 5432, *, mode: str = "transaction",
        size: int = 2, ignored: str = "options",
    ) -> None:  # fmt: skip
        self.program = needs.need("pgbouncer")
        self.port = free_port()
        self.folder = folder
        self.config = CONFIG.format(
            host=host, to=to, port=self.port, users=folder / "users.txt", mode=mode, size=size,
            ignored=ignored,
        )  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(mode=0o755, exist_ok=True)
        (self.folder / "users.txt").write_text(USERS)
        (self.folder / "pgbouncer.ini").write_text(self.config)
        self.start()
        return self

    def start(self) -> None:
        account = paths.account_for(self.folder / "none")  # it refuses to run as root
        with (self.folder / "pgbouncer.log").open("wb") as log:
            self.process = child.spawn(
                [str(self.program), str(self.folder / "pgbouncer.ini")],
                death=signal.SIGKILL, user=account.ids if account else None, log=log,
            )  # fmt: skip
        wait_for(self._answers, "PgBouncer to answer")

    def kill(self) -> None:
        """As a machine dies: no goodbye."""
        assert self.process
        self.process.kill()
        self.process.wait(10)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self.process
        child.stop(self.process, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))

    def connect(self, user: str, database: str = "postgres") -> "psycopg.Connection[Any]":
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=user, dbname=database, autocommit=True
        )

    def show(self, what: str) -> list[dict[str, Any]]:
        """Rows of its console."""
        with self.connect("postgres", "pgbouncer") as link, psycopg.ClientCursor(link) as cursor:
            cursor.execute(f"show {what}")
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, (self.folder / "pgbouncer.log").read_text()
        try:
            return bool(self.show("version"))
        except psycopg.OperationalError:
            return False
