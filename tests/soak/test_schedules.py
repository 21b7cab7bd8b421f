"""Schedules fire in time and once while the processes that fire them are killed."""

import signal
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import time

import pytest

from agui_host.embedded.supervisor import Job
from tests.acceptance.host import Host, wait_for

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]
TICKS = 60
EVERY = 0.5
LATEST = 2.0


def started_again(host: Host, job: Job, starts: int) -> bool:
    return host.log_of(job).count(f"{job.name}.started") > starts


def test_ticks_of_a_restarted_host(data_dir: Path) -> None:
    """Worker and web process are killed in turn, while a tick comes every half second."""
    host = Host(data_dir)
    try:
        host.start()
        first = datetime.now(UTC) + timedelta(seconds=15)
        ids = []
        with host.client() as client:
            for number in range(TICKS):
                at = first + timedelta(seconds=EVERY * number)
                body = {"agent": "scripted", "run_at": at.isoformat(), "input": {}}
                answer = client.post("/api/v1/schedules", json=body)
                assert answer.status_code == 201, answer.text
                ids.append(answer.json()["id"])
        last = first + timedelta(seconds=EVERY * TICKS)
        kills = 0
        while time() < last.timestamp():
            job = (host.worker, host.web)[kills % 2]
            starts = host.log_of(job).count(f"{job.name}.started")
            host.restart(job, signal_=signal.SIGKILL)
            kills += 1
            # One of the two is there at any moment, as on a host that restarts.
            wait_for(partial(started_again, host, job, starts), f"{job.name} to start again")
        assert kills >= 4

        def schedules() -> list[dict[str, object]]:
            with host.client() as client:
                page = client.get("/api/v1/schedules", params={"limit": 100}).json()
            return [row for row in page["results"] if row["id"] in ids]

        wait_for(lambda: all(row["last"] for row in schedules()), "all schedules to fire")
        late = []
        for row in schedules():
            outcome = row["last"]
            assert isinstance(outcome, dict)
            assert outcome["error"] is None
            created = datetime.fromisoformat(host.run(outcome["run"])["created_at"])
            late.append((created - datetime.fromisoformat(outcome["tick"])).total_seconds())
        with host.client() as client:
            runs = client.get("/api/v1/runs", params={"limit": 200}).json()["results"]
        assert len(runs) == TICKS, "one run of each tick"
        print(f"{kills} kills; late by at most {max(late):.2f} s, median {sorted(late)[30]:.2f} s")
        assert min(late) >= 0
        assert max(late) <= LATEST
    finally:
        host.stop()
