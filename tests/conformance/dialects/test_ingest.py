"""The stock producer of Durable Streams feeds runs of this host."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import pytest

from tests.acceptance.host import Host, wait_for
from tests.conformance.dialects.test_durable_streams import log_of, url_of
from tests.conformance.node import JS, ready_packages, run_node
from tests.needs import need

MANY = 20_000
KILLS = int(os.environ.get("INGEST_KILLS", "2"))


def custom(numbers: range) -> list[dict[str, Any]]:
    return [{"type": "CUSTOM", "name": "n", "value": number} for number in numbers]


def make_agent(host: Host) -> None:
    """The external agent ``ext``."""
    made = httpx.post(
        f"{host.url}/api/v1/agents",
        json={"slug": "ext", "kind": "external"},
        headers=host.headers,
        timeout=60,
    )
    assert made.status_code in (201, 409), made.text


def open_run(host: Host) -> dict[str, Any]:
    """An open run of an external agent."""
    make_agent(host)
    return host.begin(agent="ext")


def feed(host: Host, run: dict[str, Any], **plan: Any) -> dict[str, Any]:
    plan = {"url": url_of(host, run), "headers": host.headers, "epoch": 0, **plan}
    done = run_node([str(ready_packages() / "ingest.mjs")], json.dumps(plan))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def values(host: Host, run: dict[str, Any]) -> list[int]:
    return [event["value"] for event in log_of(host, run) if event["type"] == "CUSTOM"]


def test_a_producer_is_taken_over_and_the_run_ends(packages: None, host: Host) -> None:
    run = open_run(host)
    assert feed(host, run, events=custom(range(1_000)))["errors"] == []
    second = feed(host, run, events=custom(range(1_000, 2_000)), epoch=1, stale=0)
    assert second["errors"] == ["StaleEpochError"]
    third = feed(host, run, events=custom(range(2_000, 2_001)), autoClaim=True, close=True)
    assert third["epoch"] == 2
    assert third["offset"] == f"{2_003:016d}"
    assert values(host, run) == list(range(2_001))
    assert host.run(run["id"])["status"] == "succeeded"


def test_after_a_cancel_it_stops(packages: None, host: Host) -> None:
    run = open_run(host)
    feed(host, run, events=custom(range(3)))
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel")
    late = feed(host, run, events=custom(range(300)), epoch=1)
    assert late["errors"]
    assert set(late["errors"]) == {"SequenceGapError"}
    assert host.run(run["id"])["status"] == "cancelled"


def test_nothing_is_lost_or_doubled_by_a_kill(
    packages: None, new_host: Callable[..., Host]
) -> None:
    kill_in_turn(new_host(AGUI_INGEST_LEASE="600"), kills=1, many=5_000)


@pytest.mark.soak
def test_nothing_is_lost_or_doubled_by_kills(packages: None, new_host: Callable[..., Host]) -> None:
    kill_in_turn(new_host(AGUI_INGEST_LEASE="600"), kills=KILLS, many=MANY)


def kill_in_turn(host: Host, *, kills: int, many: int) -> None:
    """Producer and web process are killed in turn; each new producer takes over and continues."""
    run = open_run(host)
    for kill in range(kills + 1):
        # The first batch of an epoch fences the killed producer off, whatever of it is on its way.
        marker = {"type": "RAW", "event": kill}
        feed(host, run, events=[marker], epoch=2 * kill)
        stored = values(host, run)
        assert stored == list(range(len(stored)))
        left = custom(range(len(stored), many))
        if kill == kills:
            feed(host, run, events=left, epoch=2 * kill + 1, close=True)
            break
        with feeding(host, run, left, epoch=2 * kill + 1) as producer:
            wait_for(partial(beyond, host, run, len(stored) + many // 10), "the first of them")
            host.restart(host.web, signal_=signal.SIGKILL)
            wait_for(partial(beyond, host, run, head(host, run)), "the next of them")
            assert producer.poll() is None, "it was done before it was killed"
    assert values(host, run) == list(range(many))
    assert host.run(run["id"])["status"] == "succeeded"


def head(host: Host, run: dict[str, Any]) -> int:
    return int(host.run(run["id"])["events"])


def beyond(host: Host, run: dict[str, Any], seq: int) -> bool:
    return head(host, run) > seq


@contextmanager
def feeding(
    host: Host, run: dict[str, Any], events: list[dict[str, Any]], *, epoch: int
) -> Iterator["subprocess.Popen[str]"]:
    """A producer in a process of its own, which is killed at the end of the block."""
    plan = {"url": url_of(host, run), "headers": host.headers, "epoch": epoch, "events": events}
    plan["batchBytes"] = 2_000
    script = str(ready_packages() / "ingest.mjs")
    process = subprocess.Popen([need("node"), script], cwd=JS, stdin=subprocess.PIPE, text=True)
    assert process.stdin
    process.stdin.write(json.dumps(plan))
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
