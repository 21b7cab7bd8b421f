"""The proxy that other tests put in front of PostgreSQL does what they order."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from tests.acceptance.host import wait_for
from tests.proxy import Proxy, embedded_postgres


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(embedded_postgres()) as proxy:
        yield proxy


def link(proxy: Proxy) -> psycopg.Connection[Any]:
    user = settings.DATABASES["default"]["USER"]
    return psycopg.connect(
        host=proxy.host, port=proxy.port, user=user, dbname="postgres", autocommit=True
    )


def test_it_passes_everything_on_until_it_cuts(proxy: Proxy) -> None:
    with link(proxy) as first, link(proxy) as second:
        assert first.execute("select repeat('x', 1000000)").fetchone() == ("x" * 1_000_000,)
        proxy.cut_after("to_client", 10)
        with pytest.raises(psycopg.OperationalError):
            first.execute("select 1")
        assert proxy.fired == 1
        assert second.execute("select 2").fetchone() == (2,)
        proxy.cut_all()
        with pytest.raises(psycopg.OperationalError):
            second.execute("select 2")


def test_what_is_late_still_reaches_the_server(proxy: Proxy) -> None:
    with link(proxy) as watching, link(proxy) as lost:
        watching.execute("create temp table unused (); select pg_advisory_unlock_all()")
        lost.execute("begin")
        proxy.cut_after("to_server", 1, late=0.3)
        with pytest.raises(psycopg.OperationalError):
            lost.execute("select pg_advisory_lock(7), pg_sleep(10)")
        waits = "select count(*) from pg_locks where locktype = 'advisory' and objid = 7"
        with link(proxy) as other:
            other.execute("set statement_timeout = '10s'")
            while other.execute(waits).fetchone() == (0,):
                pass
        assert proxy.fired == 1


def test_a_black_hole_takes_old_connections_and_leaves_new_ones(proxy: Proxy) -> None:
    with link(proxy) as old:
        proxy.swallow()
        passed_before = proxy.passed["to_client"]
        old.pgconn.send_query(b"select 1")
        with link(proxy) as new:
            assert new.execute("select 1").fetchone() == (1,)
        assert proxy.fired == 1
        assert proxy.passed["to_client"] > passed_before
        old.pgconn.finish()


def test_in_the_dark_new_connections_pass_nothing_either(proxy: Proxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy.target = server.getsockname()
        for proxy.dark, passed in ((True, b""), (False, b"x")):
            with socket.create_connection((proxy.host, proxy.port)) as client:
                client.sendall(b"x")
                near, _ = server.accept()
            with near:
                assert near.recv(1) == passed, "the end without the byte before it"


def test_a_target_that_accepts_nobody_keeps_no_other_client_waiting(
    proxy: Proxy, tmp_path: Path
) -> None:
    path = str(tmp_path / "full")
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket(socket.AF_UNIX))
        full.bind(path)
        full.listen(0)
        with suppress(BlockingIOError):
            while True:
                waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
                waiting.setblocking(False)
                waiting.connect(path)
        works, proxy.target = proxy.target, path
        stuck = stack.enter_context(socket.create_connection((proxy.host, proxy.port)))
        wait_for(lambda: proxy.dialling > 0, "the proxy to dial")
        proxy.target = works
        with link(proxy) as other:
            assert other.execute("select 1").fetchone() == (1,)
        stuck.settimeout(0)
        with pytest.raises(BlockingIOError):
            stuck.recv(1)
