"""Valkey is frozen or away: no append waits for it, and readers get every event in time."""

import signal
from collections.abc import Iterator

import pytest

from tests.acceptance.host import Host
from tests.acceptance.recovery.test_recovery import TWO, Reader
from tests.conftest import own_host

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """For tests that leave it as they took it, but for the last: Valkey is away by then."""
    with own_host() as host:
        yield host


def test_frozen_valkey_delays_no_append(host: Host) -> None:
    run = host.begin(script=[{"text": "tick ", "n": 200, "rate": 50}])
    reader = Reader(host, run["id"])
    reader.until(50)
    assert host.engines
    assert host.engines.valkey
    host.engines.valkey.send_signal(signal.SIGSTOP)
    try:
        assert reader.finish(60)["type"] == "RUN_FINISHED"
        assert max(reader.late[60:]) <= 2.0
    finally:
        host.engines.valkey.send_signal(signal.SIGCONT)


def test_without_valkey_no_event_is_lost_or_later_than_two_seconds(host: Host) -> None:
    """It is away for five seconds, then for good."""
    run = host.begin(script=[{"text": "tick ", "n": 550, "rate": 50}])  # 11 s
    readers = [Reader(host, run["id"])]
    readers[0].until(50)
    assert host.engines
    host.engines.stop_valkey()
    readers += [Reader(host, run["id"], after=30)]  # joins while there is no bell
    readers[0].until(300)
    host.engines.start_valkey()
    readers[0].until(400)
    host.engines.stop_valkey()
    for reader in readers:
        assert reader.finish(60)["type"] == "RUN_FINISHED"
        tail = reader.late[60:]
        assert max(tail) <= 2.0, max(tail)
    assert len(readers[0].events) == host.run(run["id"])["events"] >= 553
    following = host.begin(script=TWO)
    assert host.wait_status(following["id"], "succeeded", "failed")["status"] == "succeeded"
