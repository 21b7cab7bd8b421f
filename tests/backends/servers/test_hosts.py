"""Several hosts in an address: each is asked by itself, the one that answered last comes first."""

from typing import Any

import psycopg
import pytest
from procrastinate.contrib.django.utils import connector_params

from agui_host.backends.postgres import address, deadlines
from agui_host.backends.postgres.servers import hosts
from tests.proxy import Proxy, embedded_postgres


@pytest.mark.django_db
def test_of_several_hosts_the_one_that_answers_is_used_first_next_time(db: None) -> None:
    with Proxy(embedded_postgres()) as dead, Proxy(embedded_postgres()) as alive:
        dead.refusing = True
        values: dict[str, Any] = connector_params() | {
            "host": f"{dead.host},{alive.host}", "port": f"{dead.port},{alive.port}",
        }  # fmt: skip
        for attempt in (1, 2):
            with deadlines.Connection.connect(**values) as raw:
                assert raw.info.port == alive.port, attempt
        assert hosts.places(values)[0]["port"] == str(alive.port)
        alive.refusing = True
        with pytest.raises(psycopg.OperationalError, match=r".+; .+"):
            deadlines.Connection.connect(**values)


def test_hosts_are_taken_apart_with_their_ports() -> None:
    assert hosts.places({"host": "db"}) == [{}]
    assert hosts.places({"host": "a,b", "port": "5432"}) == [
        {"host": "a", "port": "5432"}, {"host": "b", "port": "5432"},
    ]  # fmt: skip
    assert hosts.places({"host": "a,b", "hostaddr": "::1,::2", "port": "1,2"})[1] == {
        "host": "b", "hostaddr": "::2", "port": "2",
    }  # fmt: skip


def test_several_hosts_mean_the_one_that_accepts_commits() -> None:
    options = address.database("postgresql://u:p@a:1,b:2/db")["OPTIONS"]
    assert options["target_session_attrs"] == "read-write"
    named = address.database("postgresql://a,b/db?target_session_attrs=primary")["OPTIONS"]
    assert named["target_session_attrs"] == "primary"
    assert "target_session_attrs" not in address.database("postgresql://a:1/db")["OPTIONS"]
