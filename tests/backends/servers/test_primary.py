"""Connections lead to the newest primary, and report commits that did not reach the standby."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import deadlines
from agui_host.backends.postgres.servers import primary
from agui_host.backends.postgres.servers.primary import Outdated, Server
from agui_host.embedded import paths
from tests.acceptance.host import wait_for
from tests.backends.test_checkout import Queue, Sync, session

__all__ = ["session"]

COMMIT = "select pg_logical_emit_message(true, 'test', 'test')"
WAITS = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
CANCEL = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"


@pytest.fixture
def memory() -> Iterator[dict[int, int]]:
    """The timelines that this process has met; as before afterwards."""
    before = dict(primary.newest)
    yield primary.newest
    primary.newest.clear()
    primary.newest.update(before)


def test_a_lower_timeline_is_refused_and_another_system_counts_by_itself(
    memory: dict[int, int],
) -> None:
    for timeline in (4, 5, 5):
        primary.note(Server(1, -7, timeline), "db:1")
    with pytest.raises(Outdated, match=r"db:2 is a primary of timeline 4, and 5 has begun"):
        primary.note(Server(1, -7, 4), "db:2")
    primary.note(Server(1, -8, 1), "db:3")
    primary.note(Server(1, -7, None), "a standby")
    primary.note(Server(1, None, None), "a service that hides it")
    assert (memory[-7], memory[-8]) == (5, 1)
    assert primary.is_outdated(Server(1, -7, 4))
    assert not primary.is_outdated(Server(1, -7, 5))
    assert not primary.is_outdated(None)


@pytest.mark.django_db
def test_open_connections_to_an_old_primary_end_and_no_new_one_is_made(
    session: Sync, memory: dict[int, int]
) -> None:
    server = session.raw.server
    assert server == (session.raw.info.backend_pid, server.system, server.timeline)
    assert not session.raw.is_pooled
    memory[server.system] = server.timeline + 1
    with pytest.raises(Outdated, match="newer primary"):
        session.ask("select 1")
    assert session.raw.closed
    with pytest.raises(Outdated):
        deadlines.Connection.connect(**connector_params())
    with pytest.raises(Outdated):
        asyncio.run(deadlines.AsyncConnection.connect(**connector_params()))


def test_a_connection_waits_until_another_thread_has_asked_all_hosts() -> None:
    """Or it would take the first one, which may be an old primary, and commit there."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(10)
        port = silent.getsockname()[1]
        place = {"host": "127.0.0.1,localhost", "port": f"{port},{port}"}
        parameters = {**connector_params(), **place}
        primary.suspect()
        asking = threading.Thread(target=deadlines.look_around, args=[parameters])
        asking.start()
        with silent.accept()[0]:  # the hosts are being asked
            deadlines.look_around(parameters)
            asking.join(1)
            assert not asking.is_alive()


@pytest.fixture
def operator(settings: Any, transactional_db: None) -> Iterator[Callable[[str], Any]]:
    """What the superuser is answered, who waits for no standby."""
    sockets = str(paths.socket_dir(settings.AGUI_DATA_DIR))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as link:
        link.execute("set synchronous_commit = local")

        def ask(sql: str) -> Any:
            cursor = link.execute(sql)
            row = cursor.fetchone() if cursor.description else None
            return row and row[0]

        yield ask


@pytest.mark.parametrize("kind", [Sync, Queue])
def test_a_commit_that_stopped_waiting_for_its_standby_is_an_error(
    kind: Callable[[], Sync], operator: Callable[[str], Any]
) -> None:
    """Of a request's connection and of the job queue's."""
    failures: list[BaseException] = []

    def commit() -> None:
        try:
            while True:  # the server reads its new configuration a moment later
                session.ask(COMMIT)
        except psycopg.OperationalError as error:
            failures.append(error)

    with closing(kind()) as session:
        operator("alter system set synchronous_standby_names = 'nobody'")
        operator("select pg_reload_conf()")
        try:
            thread = threading.Thread(target=commit)
            thread.start()
            wait_for(lambda: operator(WAITS) == 1, "the commit to wait")
            operator(CANCEL)
            thread.join(10)
        finally:
            operator("alter system reset synchronous_standby_names")
            operator("select pg_reload_conf()")
        assert [str(failure) for failure in failures] == ["A commit has not waited for its standby"]
        assert session.raw.closed


def test_the_job_queue_asks_as_the_requests_do(db: None) -> None:
    async def server() -> Any:
        async with await deadlines.AsyncConnection.connect(**connector_params()) as raw:
            return raw.server

    with connection.cursor() as cursor:
        cursor.execute("select system_identifier from pg_control_system()")
        assert asyncio.run(server()).system == cursor.fetchone()[0]
