"""What a pool asks of a connection before it hands it out: nothing, if it has just answered."""

import asyncio
import select
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import deadlines

pytestmark = pytest.mark.django_db
PING = ""


class Sync:
    """A connection of a request's kind."""

    def __init__(self) -> None:
        self.raw: Any = deadlines.Connection.connect(**connector_params(), autocommit=True)

    def ask(self, query: str) -> None:
        self.raw.execute(query)

    def close(self) -> None:
        self.raw.close()


class Queue(Sync):
    """A connection of the job queue's kind."""

    def __init__(self) -> None:
        self.loop = asyncio.Runner()
        connecting = deadlines.AsyncConnection.connect(**connector_params(), autocommit=True)
        self.raw = self.loop.run(connecting)

    def ask(self, query: str) -> None:
        self.loop.run(self.raw.execute(query))

    def close(self) -> None:
        self.loop.run(self.raw.close())
        self.loop.close()


@pytest.fixture(params=[Sync, Queue])
def session(request: pytest.FixtureRequest) -> Any:
    kind: Callable[[], Sync] = request.param
    opened = kind()
    yield opened
    opened.close()


def last_query(session: Sync) -> str:
    """What the server heard last of this session."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select query from pg_stat_activity where pid = %s", [session.raw.info.backend_pid]
        )
        return str(cursor.fetchone()[0])


def test_one_that_has_just_answered_is_not_pinged(session: Sync) -> None:
    session.ask("select 1")
    session.ask(PING)
    assert last_query(session) == "select 1"


def test_one_that_was_silent_is_pinged(session: Sync) -> None:
    session.ask("select 1")
    session.raw.answered_at -= deadlines.FRESH + 1
    session.ask(PING)
    assert last_query(session) == PING


def test_one_whose_session_was_ended_is_found_out_at_once(session: Sync) -> None:
    session.ask("select 1")
    with connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(%s, 5000)", [session.raw.info.backend_pid])
        assert cursor.fetchone()[0]
    readable, _, _ = select.select([session.raw.pgconn.socket], [], [], 30)
    assert readable
    with pytest.raises(psycopg.OperationalError):
        session.ask(PING)
