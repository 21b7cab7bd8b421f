"""The primary answers where there is no standby; tests with one are the engines' (acceptance)."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, transaction
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import address, roles
from agui_host.backends.postgres.servers import primary, replica, standby
from agui_host.backends.postgres.servers.replica import AWAY, BEHIND, OK, PROMOTED, Health
from agui_host.backends.postgres.servers.standby import StandbyWrapper
from tests.acceptance.host import free_port, wait_for

SOON = 4.0
"""Seconds in which the primary answers for a standby that is not there."""


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[Health]:
    fresh = Health()
    monkeypatch.setattr(replica, "health", fresh)
    monkeypatch.setattr(roles.process, "shares", True)
    yield fresh
    for thread in threading.enumerate():
        if thread.name == "replica-look":
            thread.join(10)
    vars(replica._of_thread).clear()
    while StandbyWrapper._connection_pools:
        StandbyWrapper._connection_pools.popitem()[1].close()


def server() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("select 1")
    return type(connection.connection)


@pytest.fixture
def alone(settings: Any, health: Health) -> Health:
    """The replica's address is that of the primary."""
    options = {**settings.DATABASES["default"]["OPTIONS"], "target_session_attrs": "any"}
    names = ("NAME", "USER", "PASSWORD", "HOST", "PORT")
    own = connection.settings_dict
    settings.AGUI_DATABASE_REPLICA = {**{name: own[name] for name in names}, "OPTIONS": options}
    return health


def test_without_the_setting_it_is_a_plain_call(settings: Any, health: Health) -> None:
    assert not replica.is_set()
    health.note(OK)
    assert replica.read(server) is not standby.StandbyConnection


def test_a_primary_is_not_read_as_a_replica_and_not_learnt_of(alone: Health) -> None:
    before = dict(primary.newest)
    assert replica.is_set()
    assert replica.read(server) is not standby.StandbyConnection, "a look comes first"
    wait_for(lambda: alone.summary() == PROMOTED, "the look", 10)
    alone.note(OK)
    assert replica.read(server) is not standby.StandbyConnection
    assert alone.summary() == PROMOTED
    assert primary.newest == before
    assert type(connection.connection) is not standby.StandbyConnection


def test_in_a_transaction_nothing_is_read_elsewhere(alone: Health) -> None:
    alone.note(OK)
    with transaction.atomic():
        assert replica.read(server) is not standby.StandbyConnection
    assert alone.summary() == OK, "nothing was tried"


def test_a_standby_that_is_not_there_costs_one_read_a_moment(alone: Health, settings: Any) -> None:
    port = free_port()
    settings.AGUI_DATABASE_REPLICA = address.replica(f"postgresql://{{}}@127.0.0.1:{port}/x")
    alone.note(OK)
    for limit in (SOON, 0.5):
        began = time.monotonic()
        replica.read(server)
        assert time.monotonic() - began < limit
        assert alone.summary() == AWAY


def test_an_error_in_a_read_is_raised_by_the_primary(
    alone: Health, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a write, which a standby refuses, is made again there."""
    monkeypatch.setattr(replica, "_wait_for", lambda other, position: None)
    alone.note(OK)
    servers: list[Any] = []

    def fails() -> None:
        servers.append(server())
        connection.cursor().execute("select 1 from no_such_table")

    with pytest.raises(DatabaseError, match="no_such_table"):
        replica.read(fails)
    assert servers[0] is standby.StandbyConnection
    assert servers[1] is not standby.StandbyConnection
    assert alone.summary() == OK, "it is not the standby's fault"


def test_being_late_for_a_moment_is_not_behind(health: Health) -> None:
    health.note(OK)
    health.note(BEHIND)
    assert health.summary() == OK
    assert not health.allows()
    late = Health()
    late.note(BEHIND)
    assert late.summary() == BEHIND


def test_an_address_that_cannot_be_one_names_its_setting() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_REPLICA_URL must begin with"):
        address.replica("mysql://a/b")
    options = address.replica("postgres://one,two/db")["OPTIONS"]
    assert (options["target_session_attrs"], options["connect_timeout"]) == ("any", "2")


def test_of_several_hosts_none_that_is_no_standby_is_preferred(transactional_db: None) -> None:
    with standby.StandbyConnection.connect(**connector_params()) as raw:
        assert not raw.is_standby
        assert raw.server is not None
