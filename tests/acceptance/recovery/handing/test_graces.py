"""A worker that is stopped hands over, or ends, the runs of each agent after the agent's grace."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_host.embedded import supervisor
from tests.acceptance.host import Host, wait_for
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow
LATE = 10.0
"""Seconds by which a busy machine can be late."""


@contextmanager
def host_with(grace: float) -> Iterator[Host]:
    with own_data_dir() as data:
        host = Host(
            data,
            AGUI_WORKER_GRACE=f"{grace}",
            AGUI_HEARTBEAT="0.5",
            AGUI_WORKER_LOST_AFTER="5",
            AGUI_AGENT_MODULES="tests.acceptance.recovery.handing.waiting",
        )
        try:
            yield host.start()
        finally:
            host.worker.kill()
            host.stop()


def begun(host: Host, gate: Path, *agents: str) -> dict[str, str]:
    """The runs' ids by agent, once each has counted."""
    runs = {agent: host.begin(agent, forwardedProps={"gate": str(gate)})["id"] for agent in agents}
    for run in runs.values():
        wait_for(lambda: len(host.events(run)) > 2, "the first events")  # noqa: B023
    return runs


def first(host: Host, run: str, **members: Any) -> dict[str, Any] | None:
    """The run's first event with these members."""
    events = (frame["event"] for frame in host.events(run))
    return next((event for event in events if members.items() <= event.items()), None)


def seconds_until(host: Host, run: str, since: float, **members: Any) -> float:
    """How long after a moment the run had an event with these members."""
    wait_for(lambda: first(host, run, **members), f"{members} of {run}", 60)
    event = first(host, run, **members)
    assert event
    return float(event["timestamp"]) / 1000 - since


def test_each_agents_runs_have_their_own_time(tmp_path: Path) -> None:
    """None waits for another; the worker leaves when the last one is over."""
    gate = tmp_path / "gate"
    with host_with(120) as host:
        runs = begun(
            host, gate,
            "handed-over-at-once", "handed-over-later", "ended-soon", "as-long-as-the-worker",
        )  # fmt: skip
        second = supervisor.worker(2.0)
        second.name = "second"
        host.spawn(second)
        try:
            wait_for(lambda: host.ready()["workers"] == 2, "both workers")
            old = host.worker.process
            assert old is not None
            moment = time.time()
            old.terminate()
            marker = {"type": "CUSTOM", "name": "agui_host.recovered"}
            at_once = seconds_until(host, runs["handed-over-at-once"], moment, **marker)
            ended = seconds_until(host, runs["ended-soon"], moment, type="RUN_ERROR")
            later = seconds_until(host, runs["handed-over-later"], moment, **marker)
            assert 0 < at_once < LATE
            assert 1.9 < ended < 2 + LATE  # The database's clock is some milliseconds apart.
            assert 3.9 < later < 4 + LATE
            assert at_once < ended < later
            assert host.run(runs["ended-soon"])["error"]["code"] == "shutdown"
            assert old.poll() is None
            assert first(host, runs["as-long-as-the-worker"], type="RUN_ERROR") is None
            gate.touch()
            for agent in runs.keys() - {"ended-soon"}:
                done = host.wait_status(runs[agent], "succeeded", "failed")
                assert done["status"] == "succeeded", agent
            assert first(host, runs["as-long-as-the-worker"], **marker) is None
            assert old.wait(20) == 0
        finally:
            second.kill()
            second.stop()


def test_no_agent_has_longer_than_its_worker(tmp_path: Path) -> None:
    with host_with(2) as host:
        (run,) = begun(host, tmp_path / "gate", "longer-than-the-worker").values()
        old = host.worker.process
        assert old is not None
        moment = time.time()
        old.terminate()
        # The database's clock is some milliseconds apart.
        assert 1.9 < seconds_until(host, run, moment, type="RUN_ERROR") < 2 + LATE
        assert old.wait(20) == 0
