"""A statement that may take minutes is given up once PostgreSQL does not work on it any more."""

import asyncio
import re
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import deadlines, long_waits
from agui_host.backends.postgres.deadlines import AsyncConnection, Connection, allowing
from tests.house import repository
from tests.proxy import Proxy, embedded_postgres

pytestmark = pytest.mark.django_db
LONG = 60.0
ENDING = re.compile(r'"""[^"]*pg_(?:cancel|terminate)_backend[^"]*"""')


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_waits, "ASK_AFTER", 0.2)
    monkeypatch.setattr(long_waits, "ANSWER", 0.3)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(embedded_postgres()) as proxy:
        yield proxy


def connect(proxy: Proxy) -> Connection:
    address = {"host": proxy.host, "port": proxy.port}
    return Connection.connect(**connector_params() | address, autocommit=True)


@pytest.mark.parametrize("seconds", [LONG, None])
def test_a_swallowed_statement_is_given_up(proxy: Proxy, seconds: float | None) -> None:
    """It would have waited for ten minutes, and a migration for ever."""
    raw = connect(proxy)
    raw.execute("select 1")
    proxy.swallow()
    assert proxy.fired
    began = time.monotonic()
    with allowing(seconds), pytest.raises(psycopg.OperationalError, match="did not answer"):
        raw.execute("select 2")
    assert time.monotonic() - began < LONG / 4
    assert raw.closed


def test_a_session_that_is_gone_is_given_up(proxy: Proxy) -> None:
    """As after a failover: the server that answers now has never had it."""
    raw = connect(proxy)
    proxy.swallow()
    with connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s)", [raw.info.backend_pid])
    with allowing(LONG), pytest.raises(psycopg.OperationalError, match="did not answer"):
        raw.execute("select 2")


def test_one_that_is_worked_on_may_take_its_time(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the server was asked, and while it sends its answer, too."""
    answers = []

    def noted(raw: Connection) -> bool:
        answers.append(is_idle(raw))
        return answers[-1]

    is_idle = long_waits._is_idle
    monkeypatch.setattr(long_waits, "_is_idle", noted)
    with connect(proxy) as raw, allowing(LONG):
        assert raw.execute("select 1 from pg_sleep(1.5)").fetchone() == (1,)
    assert len(answers) > 2
    assert not any(answers[:-1]), "the last one may be asked when the answer is on its way"


def test_who_cannot_be_asked_is_waited_for(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without a free connection says nothing about this one."""
    monkeypatch.setattr(
        long_waits, "connector_params", lambda: connector_params() | {"dbname": "no_such"}
    )
    with connect(proxy) as raw:
        assert long_waits._is_idle(raw) is False
        with allowing(LONG):
            assert raw.execute("select 1 from pg_sleep(1)").fetchone() == (1,)


def test_usual_statements_are_not_watched(monkeypatch: pytest.MonkeyPatch, proxy: Proxy) -> None:
    """They have deadlines of their own, and are many."""
    monkeypatch.setattr(deadlines, "watched", None)
    with connect(proxy) as raw:
        assert raw.execute("select 1").fetchone() == (1,)


def test_what_missed_its_deadline_is_stopped(proxy: Proxy) -> None:
    """Or slow statements would pile up in the server, each without a client."""
    raw = connect(proxy)
    raw.deadline, pid = 0.5, raw.info.backend_pid
    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        raw.execute("select pg_sleep(60)")
    until = time.monotonic() + 30
    while _is_sleeping(pid):
        assert time.monotonic() < until, "it sleeps on"


async def test_a_server_without_notifications_is_not_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The session that listens for chores would be another one every five seconds."""
    monkeypatch.setattr(deadlines, "QUEUE", 0.2)
    async with await AsyncConnection.connect(**connector_params(), autocommit=True) as raw:
        await raw.execute("listen test_long_waits")
        notices = raw.notifies()
        hearing = asyncio.ensure_future(anext(notices))
        await asyncio.wait({hearing}, timeout=3 * deadlines.QUEUE)
        assert not hearing.done()
        async with await AsyncConnection.connect(**connector_params(), autocommit=True) as other:
            await other.execute("notify test_long_waits, 'now'")
        assert (await asyncio.wait_for(hearing, 20)).payload == "now"
        await notices.aclose()


def _is_sleeping(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_clear_snapshot()")
        cursor.execute("select wait_event from pg_stat_activity where pid = %s", [pid])
        return cursor.fetchone() == ("PgSleep",)


def test_a_session_that_asks_is_not_asked_for(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers nobody is asked once, not by one session for the other for ever."""
    stops = []

    def noted(raw: Connection, seconds: float) -> None:
        stops.append(raw)
        stop(raw, seconds)

    stop = long_waits.stop
    monkeypatch.setattr(long_waits, "stop", noted)
    monkeypatch.setattr(long_waits, "STOP", "select pg_sleep(60) where %s > 0 and %s > 0")
    raw = connect(proxy)
    raw.deadline = 0.5
    with pytest.raises(psycopg.OperationalError, match="did not answer"):
        raw.execute("select pg_sleep(60)")
    assert stops == [raw]
    with connection.cursor() as cursor:  # or the test database could not be dropped
        cursor.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where wait_event = 'PgSleep' and datname = current_database()"
        )
        assert cursor.fetchall() == [(True,), (True,)]


def test_no_session_that_waits_for_a_standby_is_ended() -> None:
    """Each statement that cancels or ends sessions leaves them out, or is about idle ones."""
    statements = [
        statement
        for path in repository.files()
        if path.suffix == ".py" and path.parts[0] in repository.PACKAGES
        for statement in ENDING.findall((repository.ROOT / path).read_text())
    ]
    assert len(statements) >= 4
    for statement in statements:
        assert "{NOT_FOR_A_STANDBY}" in statement or "state like 'idle" in statement, statement
