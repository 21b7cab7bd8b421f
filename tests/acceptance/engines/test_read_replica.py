"""Web processes read from a standby where it is as new as the primary, and only there."""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agui_host.embedded import embedded
from tests.acceptance.engines.replicated import AS_APPLICATION, Pair, Server, start_seeded, url_of
from tests.acceptance.engines.test_pgbouncer import OTHER_KEY, OTHER_TEAM
from tests.acceptance.engines.test_promotion import END_ALL, started
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import TWO, Reader
from tests.conftest import own_data_dir

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

METRICS_KEY = "metrics-key-of-the-read-replica-000001"
AT_ONCE = 8.0
"""Seconds in which the primary answers, whatever became of the replica."""
APPLICATION = "select count(*) from pg_stat_activity where usename = 'postgres_app'"
EPOCHS = "select count(*) from events_epoch"
PASSED = "select pg_last_wal_replay_lsn() > %s::pg_lsn"
FILL = "select count(pg_logical_emit_message(false, 'test', repeat('x', 1000000))) from " \
       "generate_series(1, 8)"  # fmt: skip


class ReadingHost(Host):
    """A host with a primary in DATABASE_URL and its asynchronous standby as a read replica.

    DATABASE_URL names another server as well, which a test starts.
    """

    pair: Pair
    other: Server

    def start(self, *, fsync: bool = False) -> "ReadingHost":
        self.engines = embedded.start(self.data, postgres=False)
        self.pair = Pair(self.data)
        self.other = Server(self.data / "servers" / "three")
        start_seeded(self, self.pair.primary)
        self.pair.standby.follow(self.pair.primary)
        self.env["DATABASE_URL"] = url_of(self.pair.primary.port, self.other.port)
        self.env["DATABASE_REPLICA_URL"] = url_of(self.pair.standby.port)
        self.spawn(self.web)
        self.spawn(self.worker)
        self.wait_ready()
        self.wait_replica("ok")
        return self

    def stop(self) -> None:
        super().stop()
        self.pair.stop()
        self.other.stop()

    def outdated(self) -> int:
        """How often web and worker have left a primary of a history that has ended."""
        return (self.log_of(self.web) + self.log_of(self.worker)).count("database.outdated")

    def wait_replica(self, state: str) -> None:
        def has_it() -> bool:
            self.list()
            ready = self.ready()
            assert ready["status"] == "ready", ready
            return bool(ready["replica"] == state)

        wait_for(has_it, f"a replica that is {state}", 30)

    def reads(self) -> dict[str, float]:
        headers = {"Authorization": f"Bearer {METRICS_KEY}"}
        text = httpx.get(f"{self.url}/metrics", headers=headers, timeout=30).text
        counters = re.findall(r'agui_replica_reads_total\{by="(\w+)"\} (\S+)', text)
        return {"replica": 0.0, "primary": 0.0} | {by: float(count) for by, count in counters}

    def list(self, key: str | None = None, **query: str) -> set[str]:
        with self.client(key) as client:
            answer = client.get("/api/v1/runs", params={"limit": "200", **query})
            assert answer.status_code == 200, answer.text
            return {row["id"] for row in answer.json()["results"]}

    def listed_at_once(self) -> str:
        """A run that is in the list as soon as its start was answered, soon."""
        run = self.begin(script=TWO)
        began = time.monotonic()
        assert run["id"] in self.list()
        assert time.monotonic() - began < AT_ONCE
        return str(run["id"])


@pytest.fixture(scope="module")
def reading() -> Iterator[ReadingHost]:
    """A host for all tests. The last but one gives it another primary, the last no standby."""
    with own_data_dir() as data:
        host = ReadingHost(data, **AS_APPLICATION, AGUI_METRICS_KEY=METRICS_KEY)
        try:
            yield host.start()
        finally:
            host.stop()


def test_what_was_just_written_is_there_whoever_answers(reading: ReadingHost) -> None:
    host = reading
    host.python(OTHER_TEAM)
    run = host.begin(script=[{"text": "word ", "n": 2000}], threadId="zebra")["id"]
    host.wait_status(run, "succeeded")
    time.sleep(0.3)  # commits that wait for no disk are on their way
    before = host.reads()
    replayed = Reader(host, run)
    replayed.finish()
    assert len(replayed.events) == host.run(run)["events"] > 2000
    with host.client() as client:
        file = client.get(f"/api/v1/runs/{run}/export").text.splitlines()
        assert client.get("/api/v1/threads").status_code == 200
    assert len(file) == len(replayed.events)
    assert [(row["seq"], row["event"]) for row in host.events(run)] == replayed.events
    assert host.list(q="zebra") == {run}
    after = host.reads()
    assert after["replica"] >= before["replica"] + 10, (before, after)
    assert host.pair.standby.ask(APPLICATION) > 0, "in the role of the application"

    mine = {run} | {host.listed_at_once() for _ in range(30)}
    with host.client(OTHER_KEY) as client:
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": TWO}}}
        theirs = {client.post("/api/v1/runs", json=body).json()["id"] for _ in range(3)}
    assert host.list(OTHER_KEY) == theirs, "row-level security holds there as well"
    assert host.list() == mine


def test_a_standby_that_is_behind_is_not_read(reading: ReadingHost) -> None:
    host, standby = reading, reading.pair.standby
    standby.ask("select pg_wal_replay_pause()")
    known = {host.listed_at_once() for _ in range(5)}
    host.wait_replica("behind")
    before = host.reads()
    assert known <= host.list()
    follower = Reader(host, sorted(known)[0])
    follower.finish()
    assert host.reads()["replica"] == before["replica"]
    standby.ask("select pg_wal_replay_resume()")
    host.wait_replica("ok")
    wait_for(lambda: _reads_there(host), "reads from the replica")


def test_without_the_standby_everything_is_read_from_the_primary(reading: ReadingHost) -> None:
    host, standby = reading, reading.pair.standby
    live = Reader(host, host.begin(script=[{"text": "word ", "n": 150, "rate": 30}])["id"])
    live.until(20)
    warnings = host.log_of(host.web).count("database.replica_unused")
    standby.kill()
    for _ in range(5):
        host.listed_at_once()
    host.wait_replica("away")
    assert live.finish(60)["type"] == "RUN_FINISHED"
    assert host.log_of(host.web).count("database.replica_unused") == warnings + 1
    standby.start()
    host.wait_replica("ok")
    wait_for(lambda: _reads_there(host), "reads from the replica")


def test_a_standby_of_the_old_primary_is_not_read(reading: ReadingHost) -> None:
    """It has replayed more than the new primary has written, but of a history that has ended."""
    host, other = reading, reading.other
    old, replica = host.pair.primary, host.pair.standby
    epochs = old.ask(EPOCHS)
    other.follow(old).promote()
    old.ask(END_ALL)
    host.wait_status(started(host, 60), "succeeded")
    wait_for(lambda: other.ask(EPOCHS) > epochs, "the epoch of the new primary", 60)
    old.ask(FILL)
    wait_for(
        lambda: replica.ask(PASSED, other.ask("select pg_current_wal_insert_lsn()::text")),
        "a longer log of the old primary",
    )
    known = {host.listed_at_once() for _ in range(5)}
    host.wait_replica("other history")
    assert known <= host.list()
    assert host.outdated()


def test_a_standby_that_was_promoted_by_mistake_is_not_read(reading: ReadingHost) -> None:
    """Nor does the host take it, on its later timeline, for the primary."""
    host, replica = reading, reading.pair.standby
    for server in host.pair.servers:
        server.stop()
    replica.follow(host.other)
    host.wait_replica("ok")
    outdated = host.outdated()
    replica.ask("select pg_promote(true, 60)")
    had = replica.ask("select count(*) from runs_run")
    known = {host.listed_at_once() for _ in range(5)}
    host.wait_replica("promoted")
    host.restart(host.web)
    host.wait_ready()
    host.wait_replica("promoted")
    known.add(host.listed_at_once())
    assert known <= host.list()
    assert replica.ask("select count(*) from runs_run") == had
    assert host.outdated() == outdated


def _reads_there(host: ReadingHost) -> Any:
    before = host.reads()
    host.list()
    return host.reads()["replica"] > before["replica"]
