"""Bell, cache and seats in PostgreSQL: what one process does."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from procrastinate.contrib.django.utils import connector_params
from pytest_django import Settings

from agui_host.backends.postgres import address, roles
from agui_host.backends.postgres.base import session_parameters
from agui_host.backends.postgres.servers.pooler import Shared
from agui_host.backends.stream_limit import Seats, count
from agui_host.backends.without_valkey import payloads, reach, tables
from agui_host.backends.without_valkey.cache import PostgresCache
from agui_host.backends.without_valkey.layer import PostgresLayer
from agui_host.embedded import paths
from tests.backends.servers.bouncer import PgBouncer
from tests.backends.servers.test_pooler import connected_to

pytestmark = pytest.mark.django_db(transaction=True)

SESSION = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s"


@pytest.fixture(autouse=True)
def own_session() -> Iterator[None]:
    """The tables of the test database, on a session that ends with the test."""
    yield
    tables.session._drop()


@pytest.fixture
def new_layer() -> Iterator[Callable[[], PostgresLayer]]:
    """Makes the layers of processes, which end with the test."""
    layers: list[PostgresLayer] = []

    def make() -> PostgresLayer:
        layers.append(PostgresLayer())
        return layers[-1]

    yield make
    for layer in layers:
        layer.close()


@pytest.fixture
def cache() -> PostgresCache:
    cache = PostgresCache("", {})
    cache.clear()
    return cache


def journal(group: uuid.UUID, first: int, **more: object) -> tuple[str, payloads.Message]:
    message = {
        "type": "journal", "journal": group.bytes, "first": first, "last": first, "final": False,
        "at": 1.5, "epoch": 1, "payloads": [b"content"],
    }  # fmt: skip
    return f"journal.{group}", message | more


def test_a_payload_holds_positions_and_no_content_in_clear(settings: Settings) -> None:
    key = uuid.uuid4()
    groups = {f"journal.{key}", "access.x"}
    news = journal(key, 7, final=True, epoch=2, payloads=[b"con", b"tent"])
    (text,) = payloads.payloads([news, ("access.x", {"topic": "access.x"}), ("other", {})])
    clear, carried, *_ = text.split("\n")
    assert clear == f"journal.{key} 7 7 1 1.500000", "as releases before this one read it"
    assert carried.startswith("=2 ")
    assert text == f"{clear}\n{carried}\naccess.x\nother"
    (_, message), (group, topic) = payloads.messages(text, groups)
    assert message == news[1]
    assert (group, topic["topic"]) == ("access.x", "access.x")
    # Another position, another key: what was sealed is not taken for these events.
    moved_there = f"{clear.replace(' 7 7', ' 8 8')}\n{carried}"
    (_, moved), *_ = payloads.messages(moved_there, groups)
    assert (moved["first"], moved["payloads"]) == (8, None)
    settings.SECRET_KEY = "another key of fifty characters, and then some more"
    (_, foreign), *_ = payloads.messages(text, groups)
    assert foreign == news[1] | {"payloads": None}


def test_payloads_of_other_releases_and_other_roles() -> None:
    group = f"journal.{uuid.uuid4()}"
    (before,) = payloads.messages(f"{group} 3 4 0 1.5", {group})
    assert (before[1]["first"], before[1]["last"], before[1]["payloads"]) == (3, 4, None)
    for line in (
        "1",
        "a b c d",
        "1 2 3 4 5",
        f"{'9' * 5000} 1 0 1",
        "1 1 0 1\n=2",
        "1 1 0 1\n=x y",
    ):
        ((_, message),) = payloads.messages(f"{group} {line}", {group})
        assert message["payloads"] is None
        assert message["last"] == payloads.END, "it looks"


def test_events_that_are_long_or_many_are_read_from_the_journal() -> None:
    long = journal(uuid.uuid4(), 1, payloads=[b"x" * 4001])
    (text,) = payloads.payloads([long])
    assert "\n" not in text
    many = [journal(uuid.uuid4(), 1, payloads=[b"x" * 2500]) for _ in range(40)]
    texts = payloads.payloads(many)
    assert len(texts) <= payloads.MOST
    assert not any(line.startswith("=") for text in texts for line in text.split("\n"))
    assert len(payloads.payloads(many[:10])) == 5, "two of them in each payload"


def test_many_runs_are_several_payloads_and_too_many_are_a_look() -> None:
    some = payloads.payloads(journal(uuid.uuid4(), 1) for _ in range(400))
    assert 1 < len(some) <= payloads.MOST
    assert all(len(text.encode()) < 8000 for text in some)
    assert sum(text.count("journal.") for text in some) == 400
    assert payloads.payloads(journal(uuid.uuid4(), 1) for _ in range(4000)) == [payloads.LOOK]


async def test_messages_reach_the_groups_that_were_joined(
    new_layer: Callable[[], PostgresLayer],
) -> None:
    one, other = new_layer(), new_layer()
    here, there, alone = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    channel = await one.new_channel()
    for key in (here, there):
        await one.group_add(f"journal.{key}", channel)
    await one.group_discard(f"journal.{there}", channel)
    await other.group_send_many([journal(alone, 1), journal(there, 1), journal(here, 3)])
    async with asyncio.timeout(10):
        message = await one.receive(channel)
    assert (message["journal"], message["first"]) == (here.bytes, 3)


async def test_after_a_break_every_group_looks(
    new_layer: Callable[[], PostgresLayer],
) -> None:
    layer, key = new_layer(), uuid.uuid4()
    channel = await layer.new_channel()
    await layer.group_add(f"journal.{key}", channel)
    with psycopg.connect(**session_parameters(), autocommit=True) as admin:
        assert admin.execute(SESSION, ["agui-bell"]).fetchall()
    async with asyncio.timeout(10):
        message = await layer.receive(channel)
    assert (message["journal"], message["last"]) == (key.bytes, payloads.END)


def test_the_cache_does_what_the_host_asks(cache: PostgresCache) -> None:
    for value in ([1.5, 2.5], True, 3, "ä", {"a": None}):
        cache.set("k", value, 60)
        assert cache.get("k") == value
    assert cache.add("k", 1) is False
    assert cache.delete("k") is True
    assert cache.delete("k") is False
    assert cache.get("k", "none") == "none"
    assert cache.add("k", 1, 60) is True
    assert (cache.incr("k"), cache.decr("k", 3), cache.get("k")) == (2, -1, -1)
    assert cache.has_key("k") is True
    cache.set("k", 1, 0)
    assert (cache.get("k"), cache.has_key("k")) == (None, False)
    assert cache.add("k", 2, 60) is True
    with pytest.raises(ValueError, match="not found"):
        cache.incr("other")


def test_a_session_that_was_ended_is_made_again(cache: PostgresCache) -> None:
    cache.set("k", 1, 60)
    with psycopg.connect(**session_parameters(), autocommit=True) as admin:
        assert admin.execute(SESSION, [tables.NAME]).fetchall()
    assert cache.get("k") == 1


async def test_two_processes_share_an_owners_seats(settings: Settings) -> None:
    settings.REDIS_URL = ""
    owner, one, other = uuid.uuid4(), Seats(), Seats()
    async with AsyncExitStack() as stack:
        for number in range(15):
            assert await stack.enter_async_context((one, other)[number % 2].taken(owner, 15))
        async with one.taken(owner, 15) as first, other.taken(owner, 15) as second:
            assert (first, second) == (False, False)
        assert await asyncio.to_thread(count, owner) == 15
    assert await asyncio.to_thread(count, owner) == 0
    async with other.taken(owner, 1) as again:
        assert again is True


def test_a_web_process_behind_a_pooler_needs_the_direct_address(
    data_dir: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach.reach()
    sockets = paths.socket_dir(settings.AGUI_DATA_DIR)
    own = session_parameters()
    monkeypatch.setattr(roles.process, "shares", True)
    with (
        PgBouncer(data_dir / "bouncer", sockets) as bouncer,
        connected_to({"HOST": "127.0.0.1", "PORT": str(bouncer.port)}),
    ):
        with pytest.raises(Shared, match=r"^DATABASE_DIRECT_URL: without Valkey"):
            reach.reach()
        url = f"postgres://{own['user']}@/{own['dbname']}?host={sockets}"
        settings.AGUI_DATABASE_DIRECT = address.direct(url)
        reach.reach()
        assert session_parameters()["host"] == str(sockets)
        assert connector_params()["host"] == "127.0.0.1", "requests use the pooler"
