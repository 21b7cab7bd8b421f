"""Sentinels name the primary: bell, cache and seats follow it when a replica takes over."""

import asyncio
import signal
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.backends import stream_limit, valkey
from agui_host.backends.cache import ForgivingCache
from agui_host.backends.valkey import clients
from tests.backends.test_tls_engines import Authority
from tests.backends.valkey.servers import NAME, Servers, Watched
from tests.backends.valkey.uses import DEADLINE, Ears, forget, process, until, uses

PASSWORD = "p@ss/word"


@pytest.fixture
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    kind = getattr(request, "param", "plain")
    authority = Authority(tmp_path, "sentinels", "127.0.0.1") if kind == "tls" else None
    password = PASSWORD if kind == "password" else ""
    with Watched(tmp_path, authority, password) as servers:
        yield servers
    forget()


@pytest.mark.parametrize("watched", ["plain", "password", "tls"], indirect=True)
async def test_a_replica_takes_over(watched: Watched, settings: Settings) -> None:
    """What was counted before still counts; a subscriber hears again by itself."""
    url = settings.REDIS_URL = valkey.address(watched.url)
    assert await asyncio.to_thread(valkey.reach, url)
    assert await uses(url, settings) == {"bell": True, "cache": True, "seats": True}
    cache, key, owner = ForgivingCache(url, {}), uuid.uuid4().hex, uuid.uuid4()
    await asyncio.to_thread(cache.set, key, [1, 2, 3], 60)
    async with Ears(url) as ears, process() as here, process() as other, AsyncExitStack() as stack:
        for _ in range(2):
            assert await stack.enter_async_context(here.taken(owner, 2))
        await ears.hears()
        await asyncio.to_thread(watched.kill, watched.primary)
        assert await asyncio.to_thread(cache.get, key) == [1, 2, 3], "from its own memory"
        async with here.taken(owner, 2) as third:
            assert third is False, "counted here alone"
        await until(watched.is_promoted)
        await ears.hears()
        assert await asyncio.to_thread(valkey.state, url) == "ok"
        ForgivingCache.resting_until, here._down_until = 0.0, 0.0
        link = clients.client(url, 1.0)
        assert await asyncio.to_thread(link.get, cache.make_key(key)) == b"[1, 2, 3]"
        assert await asyncio.to_thread(cache.add, key, 1, 60) is False
        await here.renew()
        async with other.taken(owner, 2) as elsewhere:
            assert elsewhere is False, "another process counts the same"
        assert await asyncio.to_thread(stream_limit.count, owner) == 2
    forget()
    assert await uses(url, settings) == {"bell": True, "cache": True, "seats": True}, "started now"


async def test_clients_leave_a_primary_that_was_demoted(watched: Watched) -> None:
    """As an administrator moves it, with all servers alive."""
    url = valkey.address(watched.url)
    client, seats = clients.client(url, 1.0, attempts=1), clients.async_client(url, 1.0)
    await asyncio.to_thread(client.set, "agui:k", 1)
    await seats.set("agui:k", 2)
    with Servers.link(watched, watched.sentinels[0]) as link:
        link.execute_command("SENTINEL", "FAILOVER", NAME)
    await until(lambda: watched.is_promoted() and watched.is_replica(watched.primary))
    await until(lambda: bool(client.set("agui:k", 3)))
    async with asyncio.timeout(DEADLINE):
        while True:
            with suppress(*valkey.ERRORS):
                assert await seats.get("agui:k") == b"3"
                break
    await valkey.rest(seats)
    client.close()


async def test_a_machine_freezes_with_its_sentinel(watched: Watched, settings: Settings) -> None:
    """No connection closes, and the first sentinel of the URL never answers again."""
    url = settings.REDIS_URL = valkey.address(watched.url)
    cache, key, owner = ForgivingCache(url, {}), uuid.uuid4().hex, uuid.uuid4()
    await asyncio.to_thread(cache.set, key, 1, 60)
    async with Ears(url) as ears, process() as here, here.taken(owner, 1):
        await ears.hears()
        for port in (watched.primary, watched.sentinels[0]):
            watched.running[port].send_signal(signal.SIGSTOP)
        assert await asyncio.to_thread(cache.get, key) == 1, "from its own memory"
        await until(watched.is_promoted)
        await ears.hears()
        await until(lambda: valkey.state(url) == "ok")
        ForgivingCache.resting_until, here._down_until = 0.0, 0.0
        await asyncio.to_thread(cache.set, key, 2, 60)
        await here.renew()
        assert not ForgivingCache.resting_until
        assert await asyncio.to_thread(stream_limit.count, owner) == 1


def test_a_name_that_no_sentinel_has(watched: Watched) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .* know no primary 'other'"):
        valkey.reach(watched.url.replace(NAME, "other"))
