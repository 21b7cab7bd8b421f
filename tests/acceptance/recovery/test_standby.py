"""A synchronous standby that is away: what it may lack nobody sees, and nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from agui_host.embedded import paths
from events.writer.commits import DEADLINE
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import Reader
from tests.conftest import own_host

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WAITING = """
select count(*) from pg_stat_activity
 where wait_event = 'SyncRep' and state_change < now() - make_interval(secs => %s)
"""
HEAD = "select head from events_journal where id = %s"
CANCEL = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
WORDS = 160


@contextmanager
def operator(host: Host) -> Iterator[Callable[..., Any]]:
    """What the first column of the first row says, for the superuser."""
    sockets = str(paths.socket_dir(host.data))
    with psycopg.connect(host=sockets, user="postgres", autocommit=True) as link:
        link.execute("set synchronous_commit = local")

        def ask(sql: str, *values: Any) -> Any:
            cursor = link.execute(sql, values)
            row = cursor.fetchone() if cursor.description else None
            return row and row[0]

        yield ask


def set_standby(ask: Callable[..., Any], name: str) -> None:
    """Name a standby for which commits wait; none of that name is there. Empty: no standby."""
    ask(f"alter system set synchronous_standby_names = '{name}'")
    ask("select pg_reload_conf()")


def unreplicated(host: Host) -> int:
    """How often the worker has said that a commit was shown which its standby may lack."""
    return host.log_of(host.worker).count("database.unreplicated")


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """Each test gives it a standby, and takes it back."""
    with own_host(AGUI_DATABASE_DEADLINE="2") as host:
        yield host


@pytest.mark.parametrize("impatient", [False, True], ids=["waits", "cancelled"])
def test_what_a_standby_may_lack_nobody_is_shown(host: Host, impatient: bool) -> None:
    """``impatient``: somebody else cancels the commits that wait, and PostgreSQL shows them."""
    before = unreplicated(host)
    run = host.begin(script=[{"text": "word ", "n": WORDS, "rate": 20}])
    reader = Reader(host, run["id"])
    reader.until(20)
    with operator(host) as ask:
        set_standby(ask, "nobody")
        wait_for(lambda: ask(WAITING, 0.0) > 0, "a commit to wait for its standby")
        head = ask(HEAD, run["id"])
        with host.client() as client:
            refused = client.post("/api/v1/runs", json={"agent": "scripted", "input": {}})
        assert refused.status_code == 503
        if impatient:
            ask(CANCEL)
            wait_for(lambda: ask(HEAD, run["id"]) > head, "the commit that was cancelled")
            count = len(reader.events)
            assert count <= head + 1
        else:
            wait_for(lambda: ask(WAITING, DEADLINE + 3) > 0, "longer than any deadline")
            assert ask(HEAD, run["id"]) == head, "what waits is visible to nobody"
            assert len(reader.events) <= head
        set_standby(ask, "")
    assert reader.finish(120)["type"] == "RUN_FINISHED"
    assert sum(event["type"] == "TEXT_MESSAGE_CONTENT" for _, event in reader.events) == WORDS
    assert (unreplicated(host) > before) is impatient
