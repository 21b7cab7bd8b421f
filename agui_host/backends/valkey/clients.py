"""Clients of Valkey, whichever form its URL has."""

import functools
from contextlib import suppress
from typing import Any

import redis
import redis.asyncio
import redis.asyncio.cluster
import redis.asyncio.retry
import redis.cluster
import redis.sentinel
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError
from redis.retry import Retry

from agui_host.backends.valkey import nodes
from agui_host.backends.valkey.addresses import Address, parse

ERRORS = (RedisError, RedisClusterException, OSError)
"""All that a client raises; redis-py's error of a whole cluster is no RedisError."""
CONNECTING = 0.5
"""Seconds for one of several servers: the next one might answer."""


def client(url: str, seconds: float, attempts: int = 0) -> Any:
    """A synchronous client that waits so long for an answer, and tries so often again.

    Raises one of ``ERRORS`` if no node of a cluster answers.
    """
    address = parse(url)
    options: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), attempts),
    }
    if address.kind == "sentinel":
        return _primary(address, seconds, options)
    if address.kind == "cluster":
        return redis.cluster.RedisCluster(
            startup_nodes=[_node(host, port) for host, port in address.nodes],
            **{**address.options, **options},
        )
    return redis.Redis.from_url(url, **options)


def _node(host: str, port: int) -> redis.cluster.ClusterNode:
    return redis.cluster.ClusterNode(host, port)  # type: ignore[no-untyped-call]


def sentinels(address: Address, seconds: float) -> redis.sentinel.Sentinel:
    """The sentinels, each twice if there is a password: with it and without."""
    first, *more = (
        redis.sentinel.Sentinel(  # type: ignore[no-untyped-call]
            list(address.nodes), sentinel_kwargs=each
        )
        for each in nodes.sentinel_options(address, seconds, Retry(NoBackoff(), 0))
    )
    for other in more:
        first.sentinels += other.sentinels
    return first


def _primary(address: Address, seconds: float, options: dict[str, Any]) -> Any:
    known = sentinels(address, seconds)
    return known.master_for(  # type: ignore[no-untyped-call]
        address.name, **address.options, **options
    )


@functools.lru_cache(8)
def shared(url: str, seconds: float, attempts: int) -> Any:
    """One client for all threads: a cluster's learns the cluster's slots when it is made."""
    return client(url, seconds, attempts)


def async_client(url: str, seconds: float) -> Any:
    """An asynchronous client; it connects with its first command."""
    address = parse(url)
    options: dict[str, Any] = {"socket_timeout": seconds, "socket_connect_timeout": seconds}
    if address.kind == "one":
        return redis.asyncio.Redis.from_url(url, **options)
    options["retry"] = redis.asyncio.retry.Retry(NoBackoff(), 1)
    if address.kind == "cluster":
        startup = [redis.asyncio.cluster.ClusterNode(host, port) for host, port in address.nodes]
        return redis.asyncio.cluster.RedisCluster(
            startup_nodes=startup, **{**address.options, **options}
        )
    pool = redis.asyncio.ConnectionPool(**nodes.pool_options(address), **options)
    return redis.asyncio.Redis(connection_pool=pool)


async def rest(client: Any) -> None:
    """Close idle connections; the client opens new ones when it is used again."""
    with suppress(*ERRORS):
        if isinstance(client, redis.asyncio.cluster.RedisCluster):
            # Not aclose(): it forgets the slots, and learning them takes tens of milliseconds.
            for node in client.get_nodes():
                await node.disconnect_free_connections()
        else:
            await client.connection_pool.disconnect(inuse_connections=False)


async def renew(client: Any, url: str, seconds: float) -> Any:
    """The client to use after a failure: a cluster's can have forgotten the URL's nodes.

    redis-py replaces them by the nodes that the cluster named, which can all have moved since.
    """
    if not isinstance(client, redis.asyncio.cluster.RedisCluster):
        return client
    with suppress(*ERRORS):
        await client.aclose()
        # Where its last start failed, aclose() does nothing.
        for nodes_of in ("nodes_cache", "startup_nodes"):
            await client.nodes_manager.aclose(nodes_of)
    return async_client(url, seconds)


def hosts(urls: list[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """How channels_redis connects to each of these servers."""
    return [
        {"address": url, **options}
        if parse(url).kind == "one"
        else {**nodes.pool_options(parse(url)), **options, "socket_connect_timeout": CONNECTING}
        for url in urls
    ]
