"""The stock producer of Durable Streams feeds runs of this host."""

import json
from typing import Any

import httpx

from tests.acceptance.host import Host
from tests.conformance.node import ready_packages, run_node
from tests.conformance.test_durable_streams import log_of, url_of


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
