"""A cluster stores each key on one node: bell, cache and seats work, also after its death."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.backends import stream_limit, valkey
from agui_host.backends.cache import ForgivingCache
from tests.acceptance.host import free_port
from tests.backends.test_tls_engines import Authority
from tests.backends.valkey.servers import HOST, Cluster
from tests.backends.valkey.uses import Ears, forget, process, until, uses


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    tls = getattr(request, "param", "plain") == "tls"
    authority = Authority(tmp_path, "cluster", "127.0.0.1") if tls else None
    with Cluster(tmp_path, authority) as servers:
        yield servers
    forget()


@pytest.mark.parametrize("cluster", ["plain", "tls"], indirect=True)
async def test_a_replica_takes_over(cluster: Cluster, settings: Settings) -> None:
    """The node dies that stores the counts and that the subscriber reads from."""
    url = settings.REDIS_URL = valkey.address(cluster.url)
    assert await asyncio.to_thread(valkey.reach, url)
    assert await uses(url, settings) == {"bell": True, "cache": True, "seats": True}
    cache, key, owner = ForgivingCache(url, {}), uuid.uuid4().hex, uuid.uuid4()
    await asyncio.to_thread(cache.set, key, [1, 2, 3], 60)
    async with Ears(url) as ears, process() as here, process() as other, AsyncExitStack() as stack:
        for _ in range(2):
            assert await stack.enter_async_context(here.taken(owner, 2))
        await ears.hears()
        port = cluster.owner(stream_limit._key(owner))
        await asyncio.to_thread(cluster.kill, port)
        async with here.taken(owner, 2) as third:
            assert third is False, "counted here alone"
        replica = cluster.nodes[cluster.nodes.index(port) + 3]
        await until(lambda: cluster.is_promoted(replica))
        await ears.hears()
        await until(lambda: valkey.state(url) == "ok")
        ForgivingCache.resting_until, here._down_until = 0.0, 0.0
        assert await asyncio.to_thread(cache.get, key) == [1, 2, 3]
        assert ForgivingCache.resting_until == 0.0
        await here.renew()
        async with other.taken(owner, 2) as elsewhere:
            assert elsewhere is False, "another process counts the same"
        assert await asyncio.to_thread(stream_limit.count, owner) == 2
    forget()
    assert await uses(url, settings) == {"bell": True, "cache": True, "seats": True}, "started now"


async def test_one_node_of_the_url_is_enough(cluster: Cluster, settings: Settings) -> None:
    """The others are learned from it, and reached after its death."""
    first = cluster.nodes[0]
    url = settings.REDIS_URL = f"{cluster.scheme}+cluster://{HOST}:{first}{cluster.query}"
    async with Ears(url) as ears:
        await ears.hears()
        await asyncio.to_thread(cluster.kill, first)
        await ears.hears()


async def test_nodes_that_name_themselves_by_addresses_of_elsewhere(
    cluster: Cluster, settings: Settings
) -> None:
    """The one node whose address the URL has serves all the same."""
    for port in cluster.nodes:
        with cluster.link(port) as link:
            link.execute_command("CONFIG", "SET", "cluster-announce-port", free_port())
    first = cluster.nodes[0]
    with cluster.link(first) as link:
        await until(lambda: not _ports(link).intersection(cluster.nodes))
    url = settings.REDIS_URL = f"{cluster.scheme}+cluster://{HOST}:{first}{cluster.query}"
    async with Ears(url) as ears:
        await ears.hears()


def _ports(link: redis.Redis) -> set[int]:
    """The ports of its nodes, as the cluster names them."""
    slots = link.execute_command("CLUSTER", "SLOTS")
    return {int(node[1]) for span in slots for node in span[2:]}


async def test_a_plain_url_at_a_node_stops_the_start(cluster: Cluster) -> None:
    url = f"{cluster.scheme}://{HOST}:{cluster.nodes[0]}/0{cluster.query}"
    with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .* is a node of a cluster; write"):
        valkey.reach(url)


async def test_a_cluster_without_a_majority_is_named(cluster: Cluster, settings: Settings) -> None:
    """Each process then keeps the limits, which it did not while the cluster was just away."""
    url = settings.REDIS_URL = cluster.url
    for port in [*cluster.nodes[:2], *cluster.nodes[3:5]]:
        cluster.kill(port)
    await until(lambda: valkey.state(url) in (valkey.probes.DOWN, "down"))
    owner = uuid.uuid4()
    async with process() as here, here.taken(owner, 1) as one, here.taken(owner, 1) as more:
        assert (one, more) == (True, False)
