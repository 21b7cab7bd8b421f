"""A host behind HAProxy goes on when the primary dies and its standby is promoted."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.engines.haproxy import ProxiedHost
from tests.acceptance.engines.replicated import AS_APPLICATION
from tests.acceptance.engines.test_promotion import AFTER, started
from tests.acceptance.host import wait_for
from tests.acceptance.recovery.test_recovery import Reader
from tests.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READERS, WORDS, RATE = 4, 400, 20


@pytest.fixture
def proxied(data_dir: Path) -> Iterator[ProxiedHost]:
    need("haproxy")
    host = ProxiedHost(data_dir, **AS_APPLICATION)
    try:
        host.start()
        yield host
    finally:
        host.stop()


def test_nothing_is_lost_when_it_leads_to_the_promoted_standby(proxied: ProxiedHost) -> None:
    host, pair = proxied, proxied.pair
    script = [{"text": "word ", "n": WORDS, "rate": RATE}]
    readers = [Reader(host, host.begin(script=script)["id"]) for _ in range(READERS)]
    for reader in readers:
        reader.until(2 * RATE)
    promoted_at = pair.fail_over()
    position = [len(reader.events) for reader in readers]
    for reader, before in zip(readers, position, strict=True):
        left = AFTER - (time.monotonic() - promoted_at)
        wait_for(lambda r=reader, n=before: len(r.events) > n, "events after it", left)
    host.wait_status(started(host, AFTER), "succeeded")
    pair.standby.follow(pair.primary)  # at the address of the old primary
    for _ in range(5):
        host.wait_status(started(host, AFTER), "succeeded")
    for reader in readers:
        last = reader.finish(90)
        run = host.run(reader.run_id)
        assert (last["type"], run["events"]) == ("RUN_FINISHED", len(reader.events))
        assert [(row["seq"], row["event"]) for row in host.events(reader.run_id)] == reader.events
    assert host.ready()["status"] == "ready"
