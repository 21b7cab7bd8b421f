"""Valkeys that are watched by sentinels, or form a cluster, or are not there."""

from contextlib import ExitStack
from pathlib import Path

from tests.acceptance.host import Host, wait_for
from tests.backends.valkey.servers import Cluster, Watched
from tests.histories.engines.engine import Engine

INSTEAD_OF = "Valkey"


def without(data: Path, stack: ExitStack) -> Engine:
    """PostgreSQL rings the bell."""
    return Engine({"REDIS_URL": ""}, instead_of=INSTEAD_OF)


def sentinel(data: Path, stack: ExitStack) -> Engine:
    """The primary is killed, and the sentinels promote its replica."""
    servers = stack.enter_context(Watched(_folder(data)))

    def kill_primary(host: Host) -> None:
        servers.kill(servers.primary)
        wait_for(servers.is_promoted, "the replica to be promoted")
        servers.primary, servers.replica = servers.replica, servers.primary
        servers.start(port=servers.replica)
        wait_for(lambda: servers.is_replica(servers.replica), "the old primary to follow")

    return Engine({"REDIS_URL": servers.url}, {"Valkey replaced": kill_primary}, INSTEAD_OF)


def cluster(data: Path, stack: ExitStack) -> Engine:
    """One of three primaries is killed, and its replica takes its slots."""
    servers = stack.enter_context(Cluster(_folder(data)))
    shards = list(zip(servers.nodes[:3], servers.nodes[3:], strict=True))

    def kill_primary(host: Host) -> None:
        primary, replica = shards.pop(0)
        servers.kill(primary)
        wait_for(lambda: servers.is_promoted(replica), "the replica to be promoted")
        servers.start(port=primary)
        wait_for(lambda: not servers.is_promoted(primary), "the old primary to follow")
        shards.append((replica, primary))

    return Engine({"REDIS_URL": servers.url}, {"Valkey replaced": kill_primary}, INSTEAD_OF)


def _folder(data: Path) -> Path:
    folder = data / "valkeys"
    folder.mkdir(parents=True)
    return folder
