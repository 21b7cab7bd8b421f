"""``migrate`` beside a long transaction: others are not held up behind it."""

import threading
from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, connection, transaction

from agui_host.teams.management import patience

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = "runs_savedview"


@pytest.fixture
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "WAITS", ("100ms", "100ms"))
    monkeypatch.setattr(patience, "PAUSE", 0.1)


@pytest.fixture
def reader() -> Iterator[psycopg.Connection]:
    """A connection in a transaction that has read the table, as a long report has."""
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory", None), parameters.pop("context", None)
    with psycopg.connect(**parameters) as reader:
        reader.execute(f"select from {TABLE} limit 1")
        yield reader
        reader.rollback()


def policies() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_policies where tablename = %s", [TABLE])
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("_quickly")
def test_it_tries_again_until_the_table_is_free(reader: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        reader.rollback()
        cursor.execute(f"drop policy agui_team on {TABLE}")
    reader.execute(f"select from {TABLE} limit 1")
    errors = StringIO()
    tried = threading.Event()

    class Lines(StringIO):
        def write(self, text: str) -> int:
            tried.set()
            return errors.write(text)

    def let_go() -> None:
        assert tried.wait(30)
        reader.rollback()

    letting_go = threading.Thread(target=let_go)
    letting_go.start()
    call_command("migrate", interactive=False, verbosity=0, stderr=Lines())
    letting_go.join()
    assert "in use by a long transaction" in errors.getvalue()
    assert policies() == 1
    with connection.cursor() as cursor:
        cursor.execute("show lock_timeout")
        assert cursor.fetchone()[0] == "0"


@pytest.mark.parametrize("noticed_by", ["its own patience", "PostgreSQL"])
def test_it_tries_again_after_a_deadlock(
    reader: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, noticed_by: str
) -> None:
    """A transaction of the host takes the same two tables in another order, and goes on."""
    monkeypatch.setattr(patience, "PAUSE", 0.1)
    reader.rollback()
    if noticed_by == "PostgreSQL":
        monkeypatch.setattr(patience, "WAITS", ("10s", "10s"))
        reader.execute("set deadlock_timeout to '20s'")  # so PostgreSQL ends the migration
    lines: list[str] = []
    ours, theirs = "runs_savedview", "runs_filereference"
    waiting: list[threading.Thread] = []

    def step(_: str) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            if not lines:
                reader.execute(f"lock table {theirs} in access share mode")
            cursor.execute(f"lock table {ours}")
            if not lines:
                statement = f"lock table {ours} in access share mode"
                waiting.append(threading.Thread(target=lambda: reader.execute(statement)))
                waiting[0].start()
            cursor.execute(f"lock table {theirs}")

    def say(line: str) -> None:
        lines.append(line)
        waiting[0].join(10)
        reader.rollback()

    patience.patiently("default", step, say)
    assert len(lines) == 1


@pytest.mark.usefixtures("_quickly")
def test_it_gives_up_in_the_end(
    reader: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "TRIES", 2)
    lines: list[str] = []

    def step(_: str) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"lock table {TABLE}")

    with pytest.raises(OperationalError):
        patience.patiently("default", step, lines.append)
    assert len(lines) == 1
    with pytest.raises(ZeroDivisionError):
        patience.patiently("default", lambda _: 1 / 0, lines.append)
    assert len(lines) == 1
