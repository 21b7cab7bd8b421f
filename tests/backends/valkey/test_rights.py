"""A user with the least rights, as the page lists them, can do all that the host does."""

import asyncio
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings
from redis.exceptions import NoPermissionError

from agui_host.backends import valkey
from agui_host.backends.cache import ForgivingCache
from tests.backends.valkey.servers import HOST, NAME, Cluster, Servers, Watched
from tests.backends.valkey.uses import forget, uses
from tests.house.repository import ROOT

RULES = re.compile(r"^ACL SETUSER (agui.*)$", re.MULTILINE)
PAGE = ROOT / "docs" / "howto-valkey.md"


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    yield
    forget()


def rules() -> dict[str, list[str]]:
    """By the user's name, the rules of the page."""
    lines = [line.split() for line in RULES.findall(PAGE.read_text())]
    return {name: [rule.replace("PASSWORD", "secret") for rule in more] for name, *more in lines}


def grant(servers: Servers, port: int, name: str, *more: str) -> None:
    with Servers.link(servers, port) as link:
        link.execute_command("ACL", "SETUSER", name, *rules()[name], *more)


ALL = {"bell": True, "cache": True, "seats": True}


async def test_on_one_server(tmp_path: Path, settings: Settings) -> None:
    with Servers(tmp_path) as servers:
        port = servers.start()
        grant(servers, port, "agui")
        url = f"redis://agui:secret@{HOST}:{port}/0"
        assert await asyncio.to_thread(valkey.reach, url)
        assert await uses(url, settings) == ALL
        cache, key = ForgivingCache(url, {}), uuid.uuid4().hex
        for call in (
            lambda: cache.add(key, 1, 60), lambda: cache.incr(key), lambda: cache.decr(key),
            lambda: cache.has_key(key), lambda: cache.delete(key),
        ):  # fmt: skip
            await asyncio.to_thread(call)
        assert ForgivingCache.resting_until == 0.0
        link = servers.link(port, username="agui", password="secret")
        with link, pytest.raises(NoPermissionError):
            link.keys()


async def test_in_a_cluster(tmp_path: Path, settings: Settings) -> None:
    with Cluster(tmp_path) as servers:
        for port in servers.nodes:
            grant(servers, port, "agui", "+cluster|slots", "+command")
        url = servers.url.replace("://", "://agui:secret@")
        assert await asyncio.to_thread(valkey.reach, url)
        assert await uses(url, settings) == ALL


async def test_with_sentinels(tmp_path: Path, settings: Settings) -> None:
    """The user of the servers, and one of the sentinels with a password that differs."""
    with Watched(tmp_path) as servers:
        grant(servers, servers.primary, "agui")
        for port in servers.sentinels:
            grant(servers, port, "agui-sentinel")
            with Servers.link(servers, port) as link:
                link.execute_command("ACL", "SETUSER", "default", "off")
        url = servers.url.replace("://", "://agui:secret@")
        with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .* rejects the user"):
            valkey.reach(url)
        url += "?sentinel_username=agui-sentinel&sentinel_password=secret"
        assert await asyncio.to_thread(valkey.reach, url)
        assert await uses(url, settings) == ALL
        assert NAME in valkey.place(url)
        assert "secret" not in valkey.place(url)


@pytest.mark.parametrize("right", ["+publish", "+subscribe", "+eval", "+set"])
async def test_a_missing_right_stops_the_start(tmp_path: Path, right: str) -> None:
    with Servers(tmp_path) as servers:
        port = servers.start()
        grant(servers, port, "agui", right.replace("+", "-"))
        with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: .* lacks permissions"):
            valkey.reach(f"redis://agui:secret@{HOST}:{port}/0")
