"""A deploy ends no run: a worker that is stopped lets its runs finish."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_host.embedded import child, supervisor
from tests.acceptance.host import ROOT, Host, wait_for
from tests.conftest import own_data_dir

FOREVER = [{"text": "tick ", "n": 1_000_000, "rate": 20}]
TWO = [{"text": "hello ", "n": 2}]
REPEATABLE = """
from agui_host.runtimes.models import Agent
from agui_host.teams.models import Team
team = Team.objects.get(slug="demo")
Agent.objects.create(
    team=team, slug="repeatable", name="Repeatable", target="scripted", repeatable=True
)
"""


@pytest.fixture(scope="module")
def draining() -> Iterator[Host]:
    """A host whose worker gives its runs a minute; each test starts it again."""
    with own_data_dir() as data:
        host = Host(
            data,
            AGUI_WORKER_GRACE="60",
            AGUI_HEARTBEAT="0.5",
            AGUI_WORKER_LOST_AFTER="5",
            AGUI_AGENT_MODULES="tests.acceptance.late_child",
        )
        try:
            host.start().python(REPEATABLE)
            yield host
        finally:
            host.worker.kill()
            host.stop()


def begin_and_see(host: Host, *args: Any, **kwargs: Any) -> str:
    """Start a run; its id once the first events are stored."""
    run = host.begin(*args, **kwargs)
    wait_for(lambda: len(host.events(run["id"])) > 1, "the first events")
    return str(run["id"])


def test_a_stopped_worker_lets_its_runs_finish(draining: Host, tmp_path: Path) -> None:
    host = draining
    gate = tmp_path / "gate"
    long = begin_and_see(host, "late-child", forwardedProps={"gate": str(gate)})
    endless = begin_and_see(host, script=FOREVER)
    old = host.worker.process
    assert old is not None
    old.terminate()
    old.terminate()  # to the whole group and by the supervisor: these two are one
    wait_for(lambda: host.ready()["workers"] == 0, "/ready to leave it out", 10)
    assert host.ready()["status"] == "degraded"

    waiting = host.begin(script=TWO)
    beside = supervisor.worker(2.0)
    beside.name = "beside"
    host.spawn(beside)
    try:
        done = host.wait_status(waiting["id"], "succeeded", "failed")
        assert done["status"] == "succeeded", "the new worker takes what the old one does not"
        assert host.ready()["workers"] == 1
        cancel = f"{host.url}/api/v1/runs/{endless}/cancel"
        httpx.post(cancel, headers=host.headers, timeout=60).raise_for_status()
        host.wait_status(endless, "cancelled")
        assert old.poll() is None
        assert host.run(long)["status"] == "running"

        gate.touch()
        assert host.wait_status(long, "succeeded", "failed")["status"] == "succeeded"
        log = [row["event"] for row in host.events(long)]
        counts = [event["value"] for event in log if event.get("name") == "count"]
        assert counts == list(range(len(counts)))
        assert log[-2]["name"] == "child ended", "it began its child while it drained"
        assert old.wait(20) == 0, "it leaves when its last run is over"
    finally:
        beside.stop()
        host.restart(host.worker)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_waits_for_no_run(draining: Host, number: signal.Signals) -> None:
    host = draining
    run_id = begin_and_see(host, script=FOREVER)
    worker = host.worker.process
    assert worker is not None
    worker.terminate()
    wait_for(lambda: host.ready()["workers"] == 0, "it to drain", 10)
    time.sleep(2.1)  # two SIGTERMs within 2 s are one
    worker.send_signal(number)
    assert worker.wait(15) == 0
    done = host.run(run_id)
    assert (done["status"], done["error"]["code"]) == ("failed", "shutdown")
    host.restart(host.worker)


@pytest.mark.parametrize("lost", ["killed", "hurried"])
def test_a_repeatable_run_starts_again(draining: Host, tmp_path: Path, lost: str) -> None:
    """Its worker is killed, or may wait no longer: another one begins anew."""
    host, gate = draining, tmp_path / "gate"
    message = {"id": f"u-{lost}", "role": "user", "content": "go"}
    script = [{"text": "word", "n": 3}, {"until": str(gate)}, {"text": "end"}]
    first = begin_and_see(host, "repeatable", script, threadId=lost, runId="r", messages=[message])
    worker = host.worker.process
    assert worker is not None
    host.restart(host.worker, signal_=signal.SIGKILL if lost == "killed" else signal.SIGINT)
    reason = "worker_lost" if lost == "killed" else "shutdown"
    assert host.wait_status(first, "failed")["error"]["code"] == reason

    def runs() -> list[dict[str, Any]]:
        with host.client() as client:
            results = client.get("/api/v1/runs", params={"thread_id": lost}).json()["results"]
        return [run for run in results if run["id"] != first]

    wait_for(runs, "it to be started again")
    (again,) = runs()
    assert (again["run_id"], again["attempt"], again["repeats"]) == ("r", 2, first)
    wait_for(lambda: len(host.events(again["id"])) > 3, "the new attempt to speak")
    gate.touch()
    assert host.wait_status(again["id"], "succeeded", "failed")["status"] == "succeeded"
    assert host.events(first)[-1]["event"]["type"] == "RUN_ERROR"
    url = f"{host.url}/agui/threads/{lost}/messages"
    roles = [each["role"] for each in httpx.get(url, headers=host.headers).json()["messages"]]
    assert roles == ["user", "assistant", "assistant"], "of the second attempt only"
    assert len(runs()) == 1


def test_supervise_passes_both_signals_on(draining: Host, tmp_path: Path) -> None:
    """As in a container: SIGTERM drains, and the second one ends the runs."""
    host = draining
    host.worker.stop(signal.SIGINT)
    command = [*supervisor.worker(2.0).command[:3], "supervise", "worker"]
    with (tmp_path / "log").open("wb") as log:
        supervise = child.spawn(command, death=signal.SIGTERM, env=host.env, cwd=ROOT, log=log)
    try:
        host.wait_ready()
        short = begin_and_see(host, script=[{"text": "tick ", "n": 60, "rate": 20}])
        endless = begin_and_see(host, script=FOREVER)
        supervise.terminate()
        assert host.wait_status(short, "succeeded", "failed")["status"] == "succeeded"
        assert host.run(endless)["status"] == "running"
        supervise.terminate()
        supervise.wait(20)
        assert host.run(endless)["error"]["code"] == "shutdown"
    finally:
        child.stop(supervise, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
