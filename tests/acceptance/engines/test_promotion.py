"""The primary is killed, its synchronous standby is promoted: nothing is lost, no hand on us."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.engines.replicated import AS_APPLICATION, ReplicatedHost, Server
from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.test_recovery import TWO, Reader

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

AFTER = 10.0
"""Seconds after a promotion in which streams and starts continue."""
READERS, WORDS, RATE = 4, 200, 20
WRITTEN = """
select concat_ws(' ', (select count(*) from events_event), (select sum(head) from events_journal),
                 (select count(*) from runs_run), (select max(last_heartbeat)
                 from procrastinate_workers))
"""
HOSTS = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
END_ALL = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
TICKED = """
select count(*) from procrastinate_periodic_defers where defer_timestamp > %s
"""


@pytest.fixture
def replicated(data_dir: Path) -> Iterator[ReplicatedHost]:
    host = ReplicatedHost(data_dir, **AS_APPLICATION)
    try:
        host.start()
        yield host
    finally:
        host.stop()


def test_nothing_is_lost_and_an_old_primary_is_left_alone(replicated: ReplicatedHost) -> None:
    host, pair = replicated, replicated.pair
    script = [{"text": "word ", "n": WORDS, "rate": RATE}]
    readers = [Reader(host, host.begin(script=script)["id"]) for _ in range(READERS)]
    for reader in readers:
        reader.until(2 * RATE)
    epoch = host.ready()["epoch"]
    promoted_at, promotion = pair.fail_over(), time.time()
    position = [len(reader.events) for reader in readers]
    for reader, before in zip(readers, position, strict=True):
        left = AFTER - (time.monotonic() - promoted_at)
        wait_for(lambda r=reader, n=before: len(r.events) > n, "events after it", left)
    following = started(host, AFTER - (time.monotonic() - promoted_at))
    host.wait_status(following, "succeeded")
    wait_for(lambda: host.ready()["epoch"] > epoch, "the epoch of the new timeline", AFTER)

    old = pair.standby.start()  # alone on its port, and a primary in its own eyes
    old.ask("alter system reset synchronous_standby_names")
    old.ask("select pg_reload_conf()")
    assert not old.ask("select pg_is_in_recovery()")
    before_return = old.ask(WRITTEN)
    pair.primary.ask(END_ALL)  # everything connects again, and the old one's address is the first
    again = started(host, AFTER)
    host.wait_status(again, "succeeded")
    assert "database.outdated" in host.log_of(host.web) + host.log_of(host.worker)
    for reader in readers:
        last = reader.finish(90)
        run = host.run(reader.run_id)
        assert (last["type"], run["events"]) == ("RUN_FINISHED", len(reader.events))
        assert [(row["seq"], row["event"]) for row in host.events(reader.run_id)] == reader.events
    wait_for(lambda: pair.primary.ask(TICKED, int(promotion)) > 3, "periodic tasks", 90)
    for job in (host.web, host.worker):  # processes that remember no promotion
        host.restart(job)
    host.wait_status(started(host, AFTER), "succeeded")
    left_alone(old, before_return)


def left_alone(old: Server, before: str) -> None:
    assert old.ask(WRITTEN) == before
    assert old.ask(HOSTS) == 1, "the question itself"


def started(host: Host, seconds: float) -> str:
    """Start a run; again, with the same key, while the host says that it is not available."""
    ids: list[str] = []
    key = f"promotion-{time.monotonic()}"

    def accepted() -> bool:
        answer = httpx.post(
            f"{host.url}/api/v1/runs",
            json={"agent": "scripted", "input": {"forwardedProps": {"script": TWO}}},
            headers={**host.headers, "Idempotency-Key": key},
            timeout=30,
        )
        assert answer.status_code in (202, 503), answer.text
        ids.extend([answer.json()["id"]] if answer.status_code == 202 else [])
        return bool(ids)

    wait_for(accepted, "a run to start", max(seconds, 1))
    return ids[0]
