"""A worker is killed, frozen or replaced while an agent of each kind works for a run.

``tests/soak/recovery/test_recovery_kinds.py`` does it fifty times for each kind.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.host import Host
from tests.acceptance.recovery.kinds.killing import check, two_hosts
from tests.needs import need_module

need_module("pydantic_ai")
need_module("langgraph.checkpoint.postgres")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with two_hosts() as first:
        yield first


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("langgraph", "kill"),
        ("http", "kill"),
        ("codex", "kill"),
        ("pydantic-ai", "term"),
        ("langgraph", "stop"),
        ("http", "term"),
        ("claude", "term"),
    ],
)
def test_hurt(host: Host, tmp_path: Path, kind: str, fault: str) -> None:
    assert check(host, kind, 1, tmp_path, fault), "the fault has fired"


def test_a_message_reaches_the_agent_of_another_host(host: Host) -> None:
    """No setting names the address: the other host declares it."""
    run = host.begin("far-listener")["id"]
    message = {"id": "m-1", "role": "user", "content": "faster"}
    with host.client() as client:
        url = f"/api/v1/runs/{run}/messages"
        assert client.post(url, json=message).json() == {"seq": 1}
        host.wait_status(run, "succeeded")
        (row,) = client.get(url).json()["messages"]
    log = [frame["event"] for frame in host.events(run)]
    event = log[row["seen_seq"] - 1]
    assert (event["type"], event["messageId"], event["role"]) == (
        "TEXT_MESSAGE_START",
        "m-1",
        "user",
    )
    assert [event["delta"] for event in log if "delta" in event] == ["faster", "Heard: faster"]
