"""A Valkey that answers and refuses: the host names the reason, and its limits stay."""

import asyncio
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from agui_host.backends import cache as shared
from agui_host.backends import valkey
from agui_host.backends.cache import ForgivingCache
from agui_host.backends.stream_limit import Seats
from agui_host.embedded import child, paths
from tests.backends.valkey.servers import HOST, Servers

SECONDS = 20.0
Start = Callable[..., str]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with options; returns its URL."""
    servers: list[subprocess.Popen[bytes]] = []
    folder = Path("/tmp") / f"agui-test-{uuid.uuid4().hex[:12]}"  # noqa: S108  a socket's path is short
    folder.mkdir(mode=0o700)

    def begin(*options: str) -> str:
        path = folder / f"{len(servers)}"
        command = [str(paths.valkey_binary()), "--port", "0", "--unixsocket", str(path)]
        place = tmp_path / path.name
        place.mkdir()
        servers.append(subprocess.Popen([*command, "--save", "", "--dir", str(place), *options]))
        assert child.wait_until(lambda: _answers(f"unix://{path}"), SECONDS)
        return f"unix://{path}"

    yield begin
    for server in servers:
        server.kill()
        server.wait(SECONDS)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    ForgivingCache.resting_until = 0.0


def _answers(url: str) -> bool:
    try:
        return bool(redis.Redis.from_url(url).ping())
    except (redis.ResponseError, redis.AuthenticationError):
        return True
    except redis.RedisError:
        return False


def _cluster(start: Start) -> str:
    url = start("--cluster-enabled", "yes")
    redis.Redis.from_url(url).execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
    return url


def _replica(start: Start) -> str:
    return start("--replicaof", "127.0.0.1 1")


def _reader(start: Start) -> str:
    url = start()
    redis.Redis.from_url(url).execute_command(
        "ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "+@read", "+@connection", "+ping"
    )
    return url.replace("unix://", "unix://reader:secret@")


def _full(start: Start) -> str:
    url = start()
    redis.Redis.from_url(url).config_set("maxmemory", 1)
    return url


CASES = {
    "cluster": (_cluster, "refuses: a cluster"),
    "replica": (_replica, "refuses: a read-only replica"),
    "reader": (_reader, "refuses: missing permissions"),
    "full": (_full, "refuses: memory full"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_is_named(start: Start, case: str) -> None:
    make, state = CASES[case]
    assert valkey.state(make(start)) == state


def test_a_wrong_password_is_named(start: Start) -> None:
    url = start("--requirepass", "other")
    assert valkey.state(url) == "refuses: rejected password"


def test_silence_is_no_refusal(start: Start) -> None:
    assert valkey.state("redis://127.0.0.1:1") == "down"
    assert valkey.state(start()) == "ok"


@pytest.mark.parametrize("case", CASES)
def test_attempts_are_counted_all_the_same(
    start: Start, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "REST", 0.0)  # Each command asks Valkey again.
    cache, key = ForgivingCache(CASES[case][0](start), {}), uuid.uuid4().hex
    for number in range(1, 13):
        assert cache.add(f"{key}:lock", True, 10)
        cache.set(key, [1.0, *cache.get(key, [])], 60)
        assert len(cache.get(key)) == number
        cache.delete(f"{key}:lock")


@pytest.mark.parametrize("case", CASES)
async def test_streams_are_limited_all_the_same(
    start: Start, case: str, settings: Settings
) -> None:
    settings.REDIS_URL = await asyncio.to_thread(CASES[case][0], start)
    owner, here = uuid.uuid4(), Seats()
    async with here.taken(owner, 2) as first, here.taken(owner, 2) as second:
        async with here.taken(owner, 2) as third:
            assert (first, second, third) == (True, True, False)
        async with here.taken(uuid.uuid4(), 2) as others:
            assert others
    async with here.taken(owner, 2) as again:
        assert again
    await here._store.client.aclose()


@pytest.mark.parametrize(
    "form", ["redis+cluster://{0}:{1}", "redis+sentinel://{0}:{1}/main", "redis://{0}:{1}/99"]
)
def test_a_form_that_the_server_is_not_stops_the_start(tmp_path: Path, form: str) -> None:
    with Servers(tmp_path) as servers:
        url = form.format(HOST, servers.start())
        with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: Valkey at .* cannot be used"):
            valkey.reach(valkey.address(url))
        assert valkey.state(url) != "ok"


@pytest.mark.parametrize("case", ["cluster", "reader"])
def test_a_mistake_that_stays_stops_the_start(start: Start, case: str) -> None:
    url = CASES[case][0](start)
    with pytest.raises(ImproperlyConfigured, match=r"REDIS_URL: Valkey at .*; "):
        valkey.reach(url)
