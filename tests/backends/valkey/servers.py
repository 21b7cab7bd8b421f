"""Valkeys as platform teams run them: a primary with replicas and sentinels, and a cluster."""

import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import redis

from agui_host.embedded import child, paths
from tests import needs
from tests.acceptance.host import free_port, wait_for
from tests.backends.test_tls_engines import Authority

HOST = "127.0.0.1"
NAME = "mymaster"
DOWN_AFTER = 1000
"""Milliseconds of silence after which a server counts as dead."""


class Servers:
    """Servers on this machine, each with a port and a folder; dead ones can come back."""

    def __init__(self, folder: Path, authority: Authority | None = None) -> None:
        self.folder, self.authority = folder, authority
        self.ports: list[int] = []
        self.commands: dict[int, list[str]] = {}
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def begin(self) -> None:
        """Start all servers."""

    @property
    def scheme(self) -> str:
        return "rediss" if self.authority else "redis"

    @property
    def query(self) -> str:
        return f"?ssl_ca_certs={self.authority.ca}" if self.authority else ""

    def start(self, *options: str, port: int = 0) -> int:
        """Start a server (of the wheel; Debian's if it needs TLS); its port."""
        port = port or free_port()
        if port not in self.commands:
            place = self.folder / str(port)
            place.mkdir()
            self.commands[port] = [*self._program(port), "--dir", str(place), *options]
        with (self.folder / f"{port}.log").open("ab") as log:
            self.running[port] = child.spawn(self.commands[port], death=signal.SIGKILL, log=log)
        wait_for(lambda: self.answers(port), f"the server at {port}")
        return port

    def _program(self, port: int) -> list[str]:
        common = ["--bind", HOST, "--save", "", "--repl-diskless-sync-delay", "0"]
        if self.authority is None:
            return [str(paths.valkey_binary()), "--port", str(port), *common]
        return [
            str(needs.need("redis-server")), "--port", "0", "--tls-port", str(port), *common,
            "--tls-cert-file", str(self.authority.certificate),
            "--tls-key-file", str(self.authority.key), "--tls-ca-cert-file",
            str(self.authority.ca), "--tls-auth-clients", "no", "--tls-replication", "yes",
            "--tls-cluster", "yes",
        ]  # fmt: skip

    def link(self, port: int, **options: Any) -> redis.Redis:
        """The administrator's connection."""
        tls: dict[str, Any] = {}
        if self.authority:
            tls = {"ssl": True, "ssl_ca_certs": str(self.authority.ca)}
        return redis.Redis(host=HOST, port=port, decode_responses=True, **tls, **options)

    def answers(self, port: int) -> bool:
        try:
            with self.link(port) as link:
                return bool(link.ping())
        except (redis.AuthenticationError, redis.ResponseError):
            return True
        except (redis.RedisError, OSError):
            return False

    def kill(self, port: int) -> None:
        """As a machine dies: no goodbye."""
        process = self.running.pop(port)
        process.kill()
        process.wait(10)

    def stop(self) -> None:
        for process in self.running.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            child.stop(process, (signal.SIGKILL, 10.0))


class Watched(Servers):
    """A primary, a replica and three sentinels."""

    def __init__(
        self, folder: Path, authority: Authority | None = None, password: str = ""
    ) -> None:
        super().__init__(folder, authority)
        self.password = password
        self.sentinels: list[int] = []

    def begin(self) -> None:
        password = self.password
        secret = ["--requirepass", password, "--masterauth", password] if password else []
        self.primary = self.start(*secret)
        self.replica = self.start(*secret, "--replicaof", f"{HOST} {self.primary}")
        wait_for(self._is_replicated, "the replica to follow")
        for _ in range(3):
            self.sentinels.append(self._sentinel())
        wait_for(self._is_watched, "the sentinels to know each other")

    def link(self, port: int, **options: Any) -> redis.Redis:
        secret = {"password": self.password} if port not in self.sentinels else {}
        return super().link(port, **secret, **options)

    def _is_replicated(self) -> bool:
        with self.link(self.replica) as link:
            return bool(link.info("replication")["master_link_status"] == "up")

    def _is_watched(self) -> bool:
        for port in self.sentinels:
            with Servers.link(self, port) as link:
                primary = link.sentinel_masters()[NAME]
                if (primary["num-other-sentinels"], primary["num-slaves"]) != (2, 1):
                    return False
        return True

    def _sentinel(self) -> int:
        port = free_port()
        lines = [
            f"sentinel monitor {NAME} {HOST} {self.primary} 2",
            f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER}",
            f"sentinel failover-timeout {NAME} 5000",
        ]
        lines += [f"sentinel auth-pass {NAME} {self.password}"] if self.password else []
        file = self.folder / f"sentinel-{port}.conf"
        file.write_text("\n".join(lines) + "\n")
        program, *options = self._program(port)
        place = self.folder / str(port)
        place.mkdir()
        common = options[: options.index("--save")]
        tls = options[options.index("--tls-cert-file") :] if self.authority else []
        self.commands[port] = [
            program, str(file), "--sentinel", *common, *tls, "--dir", str(place),
        ]  # fmt: skip
        with (self.folder / f"{port}.log").open("ab") as log:
            self.running[port] = child.spawn(self.commands[port], death=signal.SIGKILL, log=log)
        wait_for(lambda: Servers.answers(self, port), f"the sentinel at {port}")
        return port

    @property
    def url(self) -> str:
        secret = f":{quote(self.password, safe='')}@" if self.password else ""
        nodes = ",".join(f"{HOST}:{port}" for port in self.sentinels)
        return f"{self.scheme}+sentinel://{secret}{nodes}/{NAME}/0{self.query}"

    def is_promoted(self) -> bool:
        with self.link(self.replica) as link:
            return bool(link.info("replication")["role"] == "master")

    def is_replica(self, port: int) -> bool:
        with self.link(port) as link:
            return bool(link.info("replication")["role"] == "slave")


class Cluster(Servers):
    """Three primaries with a replica each."""

    def __init__(self, folder: Path, authority: Authority | None = None, *options: str) -> None:
        super().__init__(folder, authority)
        self.options = options

    def begin(self) -> None:
        common = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(DOWN_AFTER)]
        common += self.options
        buses = [str(free_port()) for _ in range(6)]
        self.nodes = [self.start(*common, "--cluster-port", bus) for bus in buses]
        for port in self.nodes[1:]:
            with self.link(port) as link:
                link.execute_command("CLUSTER", "MEET", HOST, self.nodes[0], buses[0])
        for number, port in enumerate(self.nodes[:3]):
            first, last = number * 16384 // 3, (number + 1) * 16384 // 3 - 1
            with self.link(port) as link:
                link.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
        wait_for(lambda: all(map(self._is_ok, self.nodes)), "the cluster to be covered")
        for primary, replica in zip(self.nodes[:3], self.nodes[3:], strict=True):
            with self.link(primary) as link:
                name = link.execute_command("CLUSTER", "MYID")
            with self.link(replica) as link:
                link.execute_command("CLUSTER", "REPLICATE", name)
        wait_for(lambda: all(map(self._follows, self.nodes[3:])), "the replicas to follow")

    def _is_ok(self, port: int) -> bool:
        with self.link(port) as link:
            state = str(link.execute_command("CLUSTER", "INFO"))
            return "cluster_state:ok" in state and "cluster_known_nodes:6" in state

    def _follows(self, port: int) -> bool:
        with self.link(port) as link:
            state = link.info("replication")
            return bool(state["role"] == "slave" and state["master_link_status"] == "up")

    @property
    def url(self) -> str:
        nodes = ",".join(f"{HOST}:{port}" for port in self.nodes[:3])
        return f"{self.scheme}+cluster://{nodes}{self.query}"

    def owner(self, key: str) -> int:
        """The port of the primary that stores the key."""
        client = redis.RedisCluster(host=HOST, port=self.nodes[1], **self._tls())
        try:
            return int(client.get_node_from_key(key).port)  # type: ignore[no-untyped-call]
        finally:
            client.close()

    def _tls(self) -> dict[str, Any]:
        return {"ssl": True, "ssl_ca_certs": str(self.authority.ca)} if self.authority else {}

    def is_promoted(self, port: int) -> bool:
        with self.link(port) as link:
            return bool(link.info("replication")["role"] == "master")
