"""Asynchronous connections that look for their server each time they connect.

channels_redis makes its pools itself; it takes the class of their connections from the settings.
"""

import random
from collections.abc import Collection, Iterable
from typing import Any

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import ReadOnlyError, ResponseError
from redis.exceptions import TimeoutError as Silent

from agui_host.backends.valkey.addresses import Address

TLS = ("ssl",)
members: dict[tuple[tuple[str, int], ...], list[tuple[str, int]]] = {}
"""By the nodes that the URL names: the nodes that the cluster has named since."""


def sentinel_options(address: Address, seconds: float, retry: Any) -> list[dict[str, Any]]:
    """How to connect to a sentinel: with the user and password, then without.

    Sentinels often have no password though their servers do. redis-py's default would try a dead
    sentinel four times, with pauses of seconds.
    """
    tls = {name: value for name, value in address.options.items() if name.startswith("ssl")}
    basic = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "retry": retry, **tls}
    return [basic | address.credentials, basic] if address.credentials else [basic]


def _sentinel(nodes: list[tuple[str, int]], options: dict[str, Any]) -> Sentinel:
    return Sentinel(nodes, sentinel_kwargs=options)  # type: ignore[no-untyped-call]


class PrimaryConnection(redis.asyncio.Connection):
    """Connects to the server that the sentinels name as primary at that moment."""

    def __init__(self, *, servers: Address, **options: Any) -> None:
        super().__init__(**options)
        self.servers = servers

    async def connect_check_health(
        self, check_health: bool = True, retry_socket_connect: bool = True
    ) -> None:
        """Ask the sentinels, then connect."""
        if not self.is_connected:
            self.host, self.port = await self._primary()
        await super().connect_check_health(check_health, retry_socket_connect)

    async def _primary(self) -> tuple[str, int]:
        seconds = self.socket_connect_timeout or 1.0
        nodes = random.sample(self.servers.nodes, len(self.servers.nodes))
        error: Exception | None = None
        for options in sentinel_options(self.servers, seconds, Retry(NoBackoff(), 0)):
            async with _sentinel(nodes, options) as sentinel:
                try:
                    host, port = await sentinel.discover_master(self.servers.name)
                    return str(host), int(port)
                except (Unreachable, ResponseError) as failure:
                    error = failure
        raise Unreachable(f"The sentinels name no primary: {error}")

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """A primary that has become a replica is left; the next connection asks again."""
        try:
            return await super().read_response(*args, **options)
        except ReadOnlyError:
            await self.disconnect()
            raise Unreachable("The primary has become a replica") from None


class SecurePrimaryConnection(PrimaryConnection, redis.asyncio.SSLConnection):
    """The same over TLS."""


class MemberConnection(redis.asyncio.Connection):
    """Connects to a node of a cluster, the same in all processes as long as it answers.

    Each node passes on the messages of all others, but up to 40 ms later: nodes send to each other
    with Nagle's algorithm, and a message waits until the one before it was acknowledged.
    """

    def __init__(self, *, servers: Address, **options: Any) -> None:
        super().__init__(**options)
        self.servers = servers

    async def connect_check_health(
        self, check_health: bool = True, retry_socket_connect: bool = True
    ) -> None:
        """Try each node, the ones that the cluster named last before those of the URL.

        A node that answers and is not the first is left for that; it is taken if no node before it
        answers, as where a cluster names itself by addresses that lead nowhere from here.
        """
        if self.is_connected:
            return
        error: Exception = Unreachable("No node of the cluster is known")
        tried, failed = set[tuple[str, int]](), set[tuple[str, int]]()
        while place := self._first(failed):
            tried.add(place)
            self.host, self.port = place
            try:
                await super().connect_check_health(check_health, retry_socket_connect)
                await self.send_command("CLUSTER", "SLOTS")
                members[self.servers.nodes] = _nodes_of(await self.read_response(), self.host)
            except (Unreachable, Silent, ResponseError) as failure:
                error = failure
                failed.add(place)
                await self.disconnect(nowait=True)
            else:
                if self._first(failed) in tried:
                    return
                await self.disconnect(nowait=True)  # the node of all processes is another
        raise error

    def _first(self, failed: Collection[tuple[str, int]]) -> tuple[str, int] | None:
        nodes = [*sorted(members.get(self.servers.nodes, ())), *self.servers.nodes]
        return next((node for node in nodes if node not in failed), None)


class SecureMemberConnection(MemberConnection, redis.asyncio.SSLConnection):
    """The same over TLS."""


def _nodes_of(slots: Iterable[Any], host: str) -> list[tuple[str, int]]:
    """The addresses in an answer to CLUSTER SLOTS; an empty one means the node that answered."""
    return [
        ((node[0] or b"").decode() or host, int(node[1])) for span in slots for node in span[2:]
    ]


CONNECTIONS: dict[tuple[str, bool], type[redis.asyncio.Connection]] = {
    ("sentinel", False): PrimaryConnection,
    ("sentinel", True): SecurePrimaryConnection,
    ("cluster", False): MemberConnection,
    ("cluster", True): SecureMemberConnection,
}


def pool_options(address: Address) -> dict[str, Any]:
    """Options of a pool whose connections look for their server."""
    options = {name: value for name, value in address.options.items() if name not in TLS}
    kind = CONNECTIONS[address.kind, "ssl" in address.options]
    return {**options, "connection_class": kind, "servers": address}
