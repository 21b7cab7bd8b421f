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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WAITING = """
select count(*) from pg_stat_activity
 where wait_event = 'SyncRep' and state_change < now() - make_interval(secs => %s)
"""
HEAD = "select head from events_journal where id = %s"
CANCEL = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
WORDS = 400


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


@pytest.mark.parametrize("impatient", [False, True], ids=["waits", "cancelled"])
def test_what_a_standby_may_lack_nobody_is_shown(
    new_host: Callable[..., Host], impatient: bool
) -> None:
    """``impatient``: somebody else cancels the commits that wait, and PostgreSQL shows them."""
    host = new_host(AGUI_DATABASE_DEADLINE="2")
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
    assert ("database.unreplicated" in host.log_of(host.worker)) is impatient
