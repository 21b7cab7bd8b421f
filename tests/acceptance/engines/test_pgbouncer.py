"""A host whose web process reaches PostgreSQL through PgBouncer, in transaction mode."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from agui_host.embedded import paths
from tests.acceptance.engines.test_lost_history import EXTERNAL, feed, page
from tests.acceptance.host import ROOT, Host, wait_for
from tests.acceptance.recovery.test_recovery import TWO, Reader
from tests.backends.servers.bouncer import PgBouncer
from tests.conftest import own_data_dir
from tests.suite.warm import client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SESSIONS = 2
LOOKS = 48
"""Of twelve threads, whose statements take turns in these sessions."""
APPLICATION = "tests.acceptance.engines.application"
PASSWORD = "a-password-of-the-application"
OTHER_KEY = "charlie-key-of-the-acceptance-tests-01"
OTHER_TEAM = f"""
from agui_host.runtimes.create_team import create_team
from agui_host.runtimes.models import Agent
from agui_host.teams import keys
from agui_host.teams.models import Role
team = create_team("other", "Other")
keys.adopt_key(team, {OTHER_KEY!r}, "other", Role.OWNER)
Agent.objects.get_or_create(team=team, slug="scripted", defaults={{"name": "Scripted"}})
"""
LEFT = """
select pg_backend_pid(), current_user::text, current_setting('role'),
       coalesce(current_setting('agui.teams', true), ''), (select count(*) from runs_run),
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())
"""


class Pooled(NamedTuple):
    """The host and its pooler."""

    host: Host
    bouncer: PgBouncer


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    with own_data_dir() as data:
        sockets = paths.socket_dir(data)
        host = Host(data)
        with PgBouncer(data.with_name(f"{data.name}-bouncer"), sockets, size=SESSIONS) as bouncer:
            host.env |= {
                "DATABASE_URL": f"postgres://postgres@127.0.0.1:{bouncer.port}/postgres",
                "DATABASE_DIRECT_URL": f"postgres://postgres@/postgres?host={sockets}",
                "AGUI_DATABASE_APP_PASSWORD": PASSWORD,
            }
            try:
                host.start()
                host.python(OTHER_TEAM + EXTERNAL)
                yield Pooled(host, bouncer)
            finally:
                host.stop()


def test_runs_stream_and_start_as_without_it(pooled: Pooled) -> None:
    host, bouncer = pooled
    run = host.begin(script=[{"text": "word ", "n": 60, "rate": 20}])
    readers = [Reader(host, run["id"]) for _ in range(8)]
    for reader in readers:
        assert reader.finish()["type"] == "RUN_FINISHED"
        assert len(reader.events) == host.run(run["id"])["events"]
    again = host.begin(script=TWO, threadId=run["thread_id"])
    assert host.wait_status(again["id"], "succeeded", "failed")["status"] == "succeeded"
    clients = {row["application_name"] for row in bouncer.show("clients")}
    assert host.web.name in clients
    assert not {host.worker.name, "agui-heartbeat"} & clients, "a worker has sessions of its own"
    assert host.ready()["workers"] == 1


def test_two_teams_through_the_same_sessions_see_their_own_only(pooled: Pooled) -> None:
    host, bouncer = pooled
    mine = {host.begin(script=TWO)["id"] for _ in range(3)}
    with host.client(OTHER_KEY) as other:
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": TWO}}}
        theirs = {other.post("/api/v1/runs", json=body).json()["id"] for _ in range(3)}
    sessions: set[int] = set()
    left: set[tuple[Any, ...]] = set()

    def look(number: int) -> None:
        team, own, foreign = looking[number % 2]
        listed = {row["id"] for row in team.get("/api/v1/runs").json()["results"]}
        assert own <= listed
        assert not foreign & listed
        for run_id in foreign:
            assert team.get(f"/api/v1/runs/{run_id}").status_code == 404
        with bouncer.connect("postgres_app") as link:
            session, *rest = link.execute(LEFT).fetchone() or ()
            sessions.add(session)
            left.add(tuple(rest))

    with host.client(OTHER_KEY) as other, host.client() as our, ThreadPoolExecutor(12) as threads:
        looking = [(other, theirs, mine), (our, mine, theirs)]
        list(threads.map(look, range(LOOKS)))
    assert len(sessions) <= SESSIONS + 1, "they shared them"
    # No role that was taken, no team's scope, no row of anybody, and no lock.
    assert left == {("postgres_app", "none", "", 0, 0)}


def test_a_worker_without_the_direct_address_is_refused_in_a_line(pooled: Pooled) -> None:
    last = refused(pooled.host, "agui_project", "run_worker", DATABASE_DIRECT_URL=None)
    assert "set DATABASE_DIRECT_URL to the address of PostgreSQL itself." in last


def test_a_web_process_that_would_take_a_role_is_refused_in_a_line(pooled: Pooled) -> None:
    last = refused(pooled.host, APPLICATION, AGUI_DATABASE_APP_PASSWORD="")
    assert "log in as postgres_app (AGUI_DATABASE_APP_PASSWORD)" in last


def test_a_web_process_that_would_listen_through_it_is_refused_in_a_line(pooled: Pooled) -> None:
    last = refused(pooled.host, APPLICATION, DATABASE_DIRECT_URL=None, REDIS_URL="")
    assert "DATABASE_DIRECT_URL: without Valkey" in last


def refused(host: Host, module: str, *arguments: str, **settings: str | None) -> str:
    """The last line of a process with other settings, which does not start; None: without one."""
    env = {n: v for n, v in (host.env | settings).items() if v is not None}
    command = [sys.executable, "-m", module, *arguments]
    done = client.run(command, env=env, cwd=ROOT, timeout=60)
    assert done.returncode != 0
    return done.stderr.strip().splitlines()[-1]


def test_a_producers_next_batch_is_of_the_new_epoch(pooled: Pooled) -> None:
    """The pooler's clients stay connected when the database's history becomes another."""
    host = pooled.host
    run = host.begin("fed")["id"]
    assert feed(host, run, 0, "before") == 200
    host.manage("migrate", "--restored", "-v0")
    wait_for(lambda: feed(host, run, 1, "after") == 200, "the next batch", 30)
    head = page(host, run, 0)[1]["head"]
    assert head == f"{host.ready()['epoch']}-{str(head).rpartition('-')[2]}"
