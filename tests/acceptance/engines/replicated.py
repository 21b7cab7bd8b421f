"""Two PostgreSQL servers, of which one follows the other, and a host that is told of both."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psycopg

from agui_host.embedded import child, embedded, paths
from agui_host.embedded.engines import ENV
from tests.acceptance import prepared
from tests.acceptance.host import SEED, Host, child_pids, free_port, wait_for
from tests.suite import clusters

STEPS = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
START = 60.0
USER = "postgres"
AS_APPLICATION = {"AGUI_DATABASE_APP_PASSWORD": "a-password-of-the-application"}
"""Settings that hosts on such servers share, so that one cluster is kept for all of them."""
FOLLOWS = "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')"
FOLLOWERS = "select count(*) from pg_stat_replication"
OPTIONS = ("listen_addresses=127.0.0.1", "fsync=off", "max_connections=200", "wal_log_hints=on",
           "wal_keep_size=512MB", "TimeZone=UTC", "log_timezone=UTC")  # fmt: skip


class Server:
    """One PostgreSQL on a port of its own, which any user of this machine may enter."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.account = paths.account_for(folder)
        self.binaries = paths.postgres_binaries(self.account)
        self.process: subprocess.Popen[bytes] | None = None
        folder.parent.mkdir(exist_ok=True)
        if self.account:
            os.chown(folder.parent, *self.account.ids)

    def create(self) -> Self:
        """An empty one."""
        self._run("initdb", "-U", USER, "--auth=trust", "--encoding=UTF8", "--no-sync", "-D", "")
        return self

    def follow(self, primary: "Server") -> Self:
        """Take a copy of a running server, and begin to follow it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._run("pg_basebackup", *primary.address, "-R", "--checkpoint=fast", "--no-sync",
                  "-D", "")  # fmt: skip
        return self.start()

    def rewind(self, primary: "Server") -> Self:
        """Undo what the other server does not have, and begin to follow it."""
        source = f"host=127.0.0.1 port={primary.port} user={USER} dbname=postgres"
        self._run("pg_rewind", "--source-server", source, "-R", "--no-sync",
                  "--target-pgdata", "")  # fmt: skip
        return self.start()

    @property
    def address(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER]

    def start(self) -> Self:
        """Start it with the data that it has, as what it takes itself for."""
        flags = [part for option in OPTIONS for part in ("-c", option)]
        command = [str(self.binaries / "postgres"), "-D", str(self.folder), "-p", str(self.port),
                   "-k", "", *flags]  # fmt: skip
        with self._log.open("ab") as log:
            self.process = child.spawn(command, death=signal.SIGQUIT, user=self._ids, env=ENV,
                                       log=log)  # fmt: skip
        wait_for(self._answers, "PostgreSQL to answer", START)
        return self

    def kill(self) -> None:
        """SIGKILL for all of its processes at once, as if its machine had lost its power."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)  # so that it begins no more of them
        for pid in child_pids(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        self.process.kill()
        self.process.wait(20)
        self.process = None

    def stop(self) -> None:
        if self.process:
            child.stop(self.process, *STEPS)
            self.process = None

    def promote(self) -> float:
        """Make it the primary, without a standby so far; the moment when it was one."""
        self.ask("alter system reset synchronous_standby_names")
        self.ask("select pg_reload_conf()")
        self.ask("select pg_promote(true, 60)")
        return time.monotonic()

    def wait_for_standby(self) -> None:
        """From now on each commit waits for the standby."""
        self.ask("alter system set synchronous_standby_names = 'any 1 (*)'")
        self.ask("select pg_reload_conf()")
        wait_for(lambda: self.ask(FOLLOWS) == 1, "a synchronous standby")

    def ask(self, sql: str, *values: Any) -> Any:
        """The first column of the first row, for the superuser, who waits for no standby."""
        where = f"host=127.0.0.1 port={self.port} user={USER} dbname=postgres"
        with psycopg.connect(where, autocommit=True) as link:
            link.execute("set synchronous_commit = local")
            cursor = link.execute(sql, values)
            row = cursor.fetchone() if cursor.description else None
            return row and row[0]

    def _answers(self) -> bool:
        assert self.process
        assert self.process.poll() is None, self._log.read_text()[-2000:]
        try:
            return bool(self.ask("select true"))
        except psycopg.OperationalError:
            return False

    @property
    def _log(self) -> Path:
        return self.folder.with_suffix(".log")

    @property
    def _ids(self) -> tuple[int, int] | None:
        return self.account.ids if self.account else None

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.binaries / program), *arguments[:-1], str(self.folder)]
        with self._log.open("ab") as log:
            code = child.spawn(command, death=signal.SIGKILL, user=self._ids, env=ENV, log=log,
                               private=True).wait(120)  # fmt: skip
        assert code == 0, self._log.read_text()[-2000:]


class Pair:
    """A primary and its synchronous standby."""

    def __init__(self, folder: Path) -> None:
        self.servers = [Server(folder / "servers" / name) for name in ("one", "two")]
        self.primary, self.standby = self.servers

    def start(self) -> None:
        self.primary.create().start()
        self.begin_to_follow()

    def begin_to_follow(self) -> None:
        """Start the standby of a primary that runs."""
        self.standby.follow(self.primary)
        self.primary.wait_for_standby()

    def fail_over(self, between: Callable[[], None] = lambda: None) -> float:
        """Kill the primary, promote the standby; the moment when it was the primary."""
        self.primary.kill()
        between()
        self.primary, self.standby = self.standby, self.primary
        return self.primary.promote()

    def cut_off(self) -> None:
        """From now on the standby gets nothing, and no commit waits for it."""
        self.primary.ask("alter system reset synchronous_standby_names")
        self.primary.ask("select pg_reload_conf()")
        self.standby.ask("alter system set primary_conninfo = ''")
        self.standby.ask("select pg_reload_conf()")
        wait_for(lambda: self.primary.ask(FOLLOWERS) == 0, "the standby to be cut off")

    def stop(self) -> None:
        for server in self.servers:
            server.stop()


def url_of(*ports: int) -> str:
    """A DATABASE_URL that names servers on these ports."""
    return f"postgresql://{USER}@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres"


def start_seeded(host: Host, primary: Server) -> None:
    """Start a primary with the host's database; the first host with such settings makes it."""
    shaping = {k: v for k, v in host.settings.items() if k.startswith(prepared.SHAPING)}
    cluster = clusters.of_servers(SEED, shaping)
    if cluster.copy_to(host.data):
        primary.start()
        return
    is_plain = all(name.startswith("AGUI_DATABASE") for name in shaping)
    is_seeded = is_plain and clusters.of_hosts(SEED).copy_to(host.data)
    if is_seeded:  # an embedded cluster, to which migrating adds the roles of these settings
        (host.data / "postgres").rename(primary.folder)
    else:
        primary.create()
    primary.start()
    host.env["DATABASE_URL"] = url_of(primary.port)
    host.manage("migrate", "-v0")
    if not is_seeded:
        host.python(SEED)
    primary.stop()
    cluster.keep(host.data)
    primary.start()


class ReplicatedHost(Host):
    """A host whose DATABASE_URL names two servers."""

    pair: Pair
    pair_kind = Pair

    def start(self, *, fsync: bool = False) -> "ReplicatedHost":
        self.engines = embedded.start(self.data, postgres=False)
        self.pair = self.pair_kind(self.data)
        self.begin_servers()
        self.spawn(self.web)
        self.spawn(self.worker)
        self.wait_ready()
        return self

    def begin_servers(self) -> None:
        """Start both with the host's database, and set their address."""
        start_seeded(self, self.pair.primary)
        self.pair.begin_to_follow()
        self.env["DATABASE_URL"] = self.database_url()

    def database_url(self) -> str:
        """Both servers."""
        return url_of(*(server.port for server in self.pair.servers))

    def stop(self) -> None:
        super().stop()
        self.pair.stop()
