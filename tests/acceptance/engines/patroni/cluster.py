"""Two PostgreSQL servers that Patroni keeps, with etcd, and a host that reaches them by HAProxy."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx

from agui_host.embedded import child
from agui_host.embedded.engines import ENV
from tests.acceptance.engines.haproxy import ProxiedHost
from tests.acceptance.engines.replicated import USER, Pair, Server
from tests.acceptance.host import SEED, child_pids, free_port, wait_for
from tests.clients.environments import programs

LOCK = Path(__file__).parent / "requirements.lock"
SCOPE = {
    # The smallest that Patroni allows: a primary that dies is replaced after some 20 s.
    "ttl": 20, "loop_wait": 1, "retry_timeout": 3, "maximum_lag_on_failover": 1 << 20,
    "synchronous_mode": True, "postgresql": {"use_pg_rewind": True},
}  # fmt: skip
PARAMETERS = {
    "fsync": "off", "max_connections": 200, "wal_log_hints": "on", "wal_keep_size": "512MB",
    "unix_socket_directories": "", "TimeZone": "UTC", "log_timezone": "UTC",
}  # fmt: skip
TRUST = ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
PROMOTED = 90.0


def program(name: str) -> str:
    """Of an environment whose Python the account of PostgreSQL can reach."""
    python = sys.executable if os.geteuid() else "/usr/bin/python3"
    return str(programs("patroni", LOCK, python) / name)


class Member(Server):
    """A server that its Patroni starts, promotes, rewinds and lets follow."""

    def __init__(self, folder: Path, etcd: int) -> None:
        super().__init__(folder)
        self.api = free_port()
        self._config = folder.with_suffix(".yml")
        self._etcd = etcd

    def start(self) -> Self:
        self._config.write_text(json.dumps(self._settings(), indent=1))
        with self._log.open("ab") as log:
            command = [program("patroni"), str(self._config)]
            self.process = child.spawn(command, death=signal.SIGKILL, user=self._ids, env=ENV,
                                       log=log)  # fmt: skip
        wait_for(self._answers, "PostgreSQL to answer", PROMOTED)
        return self

    def follow(self, primary: Server) -> Self:
        return self.start()

    def wait_for_standby(self) -> None:
        """Until Patroni would promote it: it notes that a moment after PostgreSQL waits for it."""
        wait_for(self._has_standby, "a synchronous standby", PROMOTED)

    def _has_standby(self) -> bool:
        with suppress(httpx.HTTPError):
            answer = httpx.get(f"http://127.0.0.1:{self.api}/cluster", timeout=2).json()
            return any(member["role"] == "sync_standby" for member in answer["members"])
        return False

    def is_primary(self) -> bool:
        with suppress(httpx.HTTPError):
            answer = httpx.get(f"http://127.0.0.1:{self.api}/primary", timeout=2)
            return answer.status_code == 200
        return False

    def kill(self) -> None:
        """Patroni, and all processes of PostgreSQL."""
        assert self.process
        postmaster = int((self.folder / "postmaster.pid").read_text().split()[0])
        for pid in (self.process.pid, postmaster):
            os.kill(pid, signal.SIGSTOP)
        children = [int(pid) for pid in child_pids(postmaster)]
        for pid in (*children, postmaster, self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(20)
        self.process = None

    def _settings(self) -> dict[str, Any]:
        place, api = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.api}"
        return {
            "scope": "agui", "name": self.folder.name,
            "restapi": {"listen": api, "connect_address": api},
            "etcd3": {"host": f"127.0.0.1:{self._etcd}"},
            "bootstrap": {"dcs": SCOPE, "initdb": [{"encoding": "UTF8"}, {"auth": "trust"}]},
            "postgresql": {
                "listen": place, "connect_address": place, "data_dir": str(self.folder),
                "bin_dir": str(self.binaries), "pgpass": str(self.folder.with_suffix(".pass")),
                "authentication": {"superuser": {"username": USER},
                                   "replication": {"username": USER}},
                "parameters": PARAMETERS, "pg_hba": TRUST,
            },
        }  # fmt: skip


class PatroniPair(Pair):
    """A primary and its synchronous standby, of which Patroni promotes one by itself."""

    servers: list[Server]
    etcd: subprocess.Popen[bytes]

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.members = [Member(folder / "servers" / name, self.port) for name in ("one", "two")]
        self.servers = [*self.members]
        self.primary, self.standby = self.servers

    def start(self) -> None:
        place, peers = (f"http://127.0.0.1:{port}" for port in (self.port, free_port()))
        with (self.folder / "etcd.log").open("ab") as log:
            command = [
                program("etcd"), "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync",
                "--listen-client-urls", place, "--advertise-client-urls", place,
                "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                "--initial-cluster", f"default={peers}",
            ]  # fmt: skip
            self.etcd = child.spawn(command, death=signal.SIGKILL, log=log, env=ENV)
        wait_for(lambda: _answers(f"{place}/health"), "etcd to answer", 30)
        self.primary.start()
        wait_for(self._is_led, "a primary", PROMOTED)
        self.standby.start()
        self.primary.wait_for_standby()

    def fail_over(self, between: Callable[[], None] = lambda: None) -> float:
        """Kill the primary; the moment when Patroni had promoted the standby."""
        self.primary.kill()
        self.primary, self.standby = self.standby, self.primary
        wait_for(self._is_led, "Patroni to promote the standby", PROMOTED)
        return time.monotonic()

    def _is_led(self) -> bool:
        return self.members[self.servers.index(self.primary)].is_primary()

    def stop(self) -> None:
        super().stop()
        if hasattr(self, "etcd"):
            child.stop(self.etcd, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


class PatroniHost(ProxiedHost):
    """HAProxy asks Patroni's REST interface."""

    pair_kind = PatroniPair

    def begin_servers(self) -> None:
        """Patroni makes them, so they are copies of no kept ones."""
        self.pair.start()
        self.env["DATABASE_URL"] = self.database_url()
        self.manage("migrate", "-v0")
        self.python(SEED)

    def configured(self, text: str) -> str:
        assert isinstance(self.pair, PatroniPair)
        return ask_patroni(self.pair)(text)


def ask_patroni(pair: PatroniPair) -> Callable[[str], str]:
    """Changes HAProxy's configuration: Patroni says who is the primary."""

    def change(text: str) -> str:
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "tcp-"))]
        text = "\n".join(lines).replace("option tcp-check", "option httpchk GET /primary") + "\n"
        for member in pair.members:
            there = f":{member.port} check"
            assert text.count(there) == 1
            text = text.replace(there, f"{there} port {member.api}")
        return text

    return change


def _answers(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(url, timeout=2).status_code == 200
    return False
