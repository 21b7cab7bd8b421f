"""Rows that were put back are the ones that were kept, whatever a test did to them."""

import pytest
from django.core.cache import cache
from django.db import IntegrityError, connection

from agui_host.teams.models import ApiKey, AuditEntry, Team
from events.models import Event
from runs.models import Run
from tests import emptying
from tests.cast import gathered, set_stage, start
from tests.suite.rows.kept_rows import KeptRows

pytestmark = pytest.mark.django_db(transaction=True)
MODELS = (Team, ApiKey, AuditEntry, Run, Event)


def rows() -> list[list[tuple[object, ...]]]:
    return [sorted(model.objects.values_list(), key=repr) for model in MODELS]


def test_each_row_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    set_stage(monkeypatch)
    memory: KeptRows[Run] = KeptRows()
    assert memory.put_back() is None
    run = memory.keep(start(gathered().alice, messages=[{"role": "user", "content": "\\.\t\n\0é"}]))
    before = rows()
    Team.objects.update(name="changed")
    run.status = "changed"
    cache.set("counted", 1)
    with connection.cursor() as cursor:
        cursor.execute(emptying.statements())
    assert rows() == [[] for _ in MODELS]
    again = memory.put_back()
    assert rows() == before
    assert again is not None
    assert (again, again.status) == (run, "queued")
    assert cache.get("counted") is None


def test_what_outlived_a_test_is_not_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of an earlier test is deferred once its tables are empty, and the rows have it too."""
    set_stage(monkeypatch)
    memory: KeptRows[Run] = KeptRows()
    run = start(gathered().alice)
    names = "task_name, queue_name, queueing_lock"
    defer = f"insert into procrastinate_jobs ({names}) values ('t', 'q', 'one')"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(defer)
        memory.keep(run)
        cursor.execute(emptying.statements())
        cursor.execute(defer)
        assert memory.put_back() == run
        cursor.execute("select count(*) from procrastinate_jobs where task_name = 't'")
        assert cursor.fetchone() == (1,)


def test_no_table_is_left_full() -> None:
    """A worker of Procrastinate that a test left has changed the tests of the next 30 seconds."""
    tests_fill = set(connection.introspection.table_names()) - emptying.KEPT - {"django_migrations"}
    assert {name.strip('"') for name in emptying.tables()} == tests_fill


def test_nothing_is_put_among_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that asks for two casts fails."""
    set_stage(monkeypatch)
    memory: KeptRows[object] = KeptRows()
    memory.keep(gathered())
    with pytest.raises(IntegrityError):
        memory.put_back()
