"""A pooler that gives each transaction any session is recognised, and nothing is left on one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from typing import cast as typed

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import address, reach, roles
from agui_host.backends.postgres.base import DatabaseWrapper
from agui_host.backends.postgres.servers import pooler
from agui_host.embedded import paths
from agui_host.teams.models import Team
from tests.backends.servers.bouncer import PgBouncer

pytestmark = pytest.mark.django_db
NewBouncer = Callable[..., PgBouncer]


@pytest.fixture
def sockets(settings: Any) -> Path:
    return paths.socket_dir(settings.AGUI_DATA_DIR)


def parameters(bouncer: PgBouncer) -> dict[str, Any]:
    return connector_params() | {"host": "127.0.0.1", "port": str(bouncer.port)}


@pytest.mark.parametrize(
    ("mode", "size", "shares"),
    [("transaction", 1, True), ("transaction", 4, True), ("session", 4, False)],
)
def test_its_mode_is_told_by_what_it_does(
    sockets: Path, data_dir: Path, mode: str, size: int, shares: bool
) -> None:
    with PgBouncer(data_dir / "bouncer", sockets, mode=mode, size=size) as bouncer:
        assert pooler.shares_sessions(parameters(bouncer)) is shares
    assert not pooler.shares_sessions(connector_params())


def test_a_worker_is_refused_by_a_line_that_names_the_setting(
    sockets: Path, data_dir: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGUI_EMBEDDED = {"postgres": False, "valkey": False}
    with PgBouncer(data_dir / "bouncer", sockets) as bouncer:
        values = parameters(bouncer)
        for module in (pooler, reach):
            monkeypatch.setattr(module, "connector_params", lambda: values)
        with pytest.raises(pooler.Shared, match=r"^DATABASE_URL: at .+ set DATABASE_DIRECT_URL to"):
            pooler.check()
        monkeypatch.setattr(roles.process, "shares", True)
        with pytest.raises(pooler.Shared, match=r"log in as \w+_app \(AGUI_DATABASE_APP_PASSWORD"):
            pooler.check()
        settings.AGUI_DATABASE_ROLES = False
        pooler.check()
    with PgBouncer(data_dir / "bouncer", sockets, ignored="extra_float_digits") as strict:
        values = parameters(strict)
        with pytest.raises(ImproperlyConfigured, match="add options to its ignore_startup_param"):
            reach.reach()


@contextmanager
def connected_to(place: dict[str, str]) -> Iterator[DatabaseWrapper]:
    where = connection.settings_dict
    before = {name: where[name] for name in place}
    wrapper = typed(DatabaseWrapper, connection)
    connection.close()
    wrapper.close_pool()
    where.update(place)
    try:
        yield wrapper
    finally:
        connection.close()
        wrapper.close_pool()
        where.update(before)


@pytest.mark.django_db(transaction=True)
def test_rows_that_are_read_piece_by_piece_leave_no_cursor_on_a_session(
    sockets: Path, data_dir: Path
) -> None:
    for name in ("one", "two", "three"):
        Team.objects.create(name=name, slug=name)
    with (
        PgBouncer(data_dir / "bouncer", sockets, size=1) as bouncer,
        connected_to({"HOST": "127.0.0.1", "PORT": str(bouncer.port)}),
    ):
        rows = Team.objects.order_by("pk").iterator(chunk_size=1)
        first = next(rows)
        assert connection.connection.is_pooled
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from pg_cursors")
            assert cursor.fetchone()[0] == 0
        assert first not in list(rows)


@pytest.mark.django_db(transaction=True)
def test_the_direct_address_is_for_all_but_web_processes(
    sockets: Path, data_dir: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AGUI_DATABASE_DIRECT = address.direct("postgres://ann:pw@direct:1/own?sslmode=require")
    own = typed(DatabaseWrapper, connection).get_connection_params()
    assert {"host": "direct", "port": "1", "user": "ann", "dbname": "own"}.items() <= own.items()
    assert own["sslmode"] == "require"
    assert reach.setting() == "DATABASE_DIRECT_URL"
    monkeypatch.setattr(roles.process, "shares", True)
    shared = typed(DatabaseWrapper, connection).get_connection_params()
    assert shared["host"] == connection.settings_dict["HOST"]
    assert "sslmode" not in shared
    assert reach.setting() == "DATABASE_URL"
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_DIRECT_URL must begin with"):
        address.direct("mysql://direct/own")
