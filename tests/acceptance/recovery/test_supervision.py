"""``manage.py up`` and processes that hang, die, or lose everything around them."""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from agui_host.embedded.liveness import time_to_leave
from tests.acceptance.fairness import B_KEY, TEAM_B
from tests.acceptance.host import wait_for
from tests.acceptance.supervised import FAST, Supervised, fill, living, small_disk
from tests.conftest import own_data_dir
from tests.needs import need_root

TWO = [{"text": "hello ", "n": 2}]
FOREVER = [{"text": "tick ", "n": 1_000_000, "rate": 20}]
SILENCE = float(FAST["AGUI_LIVENESS_SECONDS"])
STUCK = {"AGUI_AGENT_MODULES": "tests.acceptance.stuck"}
# A command that leaves a process behind which nobody's parent knows.
TREE = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print("started", flush=True)
time.sleep(600)
"""
CLI = {"argv": [sys.executable, "-c", TREE], "limits": {"grace_seconds": 0.5}}
AGENTS = (
    TEAM_B + "team = Team.objects.exclude(slug='b').get();"
    f"Agent.objects.create(team=team, slug='cli', name='x', kind='process', settings={CLI!r})"
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    """A host that the tests of this file hurt one after the other: it has to heal in between."""
    with small_disk() if os.geteuid() == 0 else own_data_dir() as data:
        host = Supervised(data, seed=AGENTS, **STUCK, **FAST)
        host.log_path = tmp_path_factory.mktemp("up") / "up.log"
        try:
            yield host.start()
        finally:
            host.stop()


def succeeds_soon(host: Supervised, key: str, seconds: float) -> float:
    """How long it takes until a new run of that team has succeeded."""
    began = time.monotonic()
    with host.client(key) as client:
        body = {"agent": "scripted", "input": {"forwardedProps": {"script": TWO}}}
        run = client.post("/api/v1/runs", json=body).raise_for_status().json()
        wait_for(
            lambda: client.get(f"/api/v1/runs/{run['id']}").json()["status"] == "succeeded",
            "another team's run to succeed", seconds,
        )  # fmt: skip
    return time.monotonic() - began


def hang_and_heal(host: Supervised) -> None:
    stuck = host.begin("stuck")
    host.wait_status(stuck["id"], "running")
    assert succeeds_soon(host, B_KEY, 30) > 1, "the agent did not hang its worker"
    assert host.wait_status(stuck["id"], "failed")["error"]["code"] == "worker_lost"
    assert host.logged(r"worker gave no sign of life for \d+ s and was killed; starting it again")
    assert "stuck.py" in host.log(), "its stacks are in the log"
    assert not host.logged("web "), "nobody else was touched"


def test_a_worker_whose_agent_holds_the_gil_is_started_again(host: Supervised) -> None:
    hang_and_heal(host)


@pytest.mark.soak
def test_the_same_with_the_default_settings(data_dir: Path) -> None:
    host = Supervised(data_dir, seed=AGENTS, **STUCK)
    try:
        hang_and_heal(host.start())
    finally:
        host.stop()


def test_processes_that_stand_still_are_started_again(host: Supervised) -> None:
    """Frozen web and worker: nobody was there to notice but ``up``."""
    frozen = [pid for pid, line in host.pids().items() if "granian" in line or "pulse" in line]
    assert len(frozen) == 3
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    web = r"web did not answer /health for \d+ s and was killed; starting it again"
    wait_for(lambda: host.logged(web), "web to be killed")
    wait_for(lambda: host.log().count("worker gave no sign of life") == 2, "the worker, too")
    host.wait_ready()
    host.wait_status(host.begin(script=TWO)["id"], "succeeded")


def test_strangers_who_hold_all_connections_are_no_reason_to_kill(data_dir: Path) -> None:
    """They say nothing, for longer than the web process may be silent."""
    few = {"GRANIAN_BACKPRESSURE": "32", "GRANIAN_HTTP1_HEADER_READ_TIMEOUT": "9000"}
    host = Supervised(data_dir, **few, **FAST)
    with ExitStack() as stack:
        stack.callback(host.stop)
        client = stack.enter_context(host.start().client())
        client.get("/health").raise_for_status()
        web, address = host.pid_of("granian"), ("127.0.0.1", host.port)
        began = time.monotonic()
        for _ in range(64):
            stack.enter_context(socket.create_connection(address, timeout=30))
        with host.client() as newcomer, pytest.raises(httpx.TransportError):
            newcomer.get("/health", timeout=SILENCE + 2)
        client.get("/health").raise_for_status()
        wait_for(lambda: answers_anew(host), "a place for a newcomer", 60)
        assert time.monotonic() - began > SILENCE + 2, "all places were held long enough"
        assert host.pid_of("granian") == web
        assert not host.logged("web did not answer")


def answers_anew(host: Supervised) -> bool:
    """Whether the host answers over a new connection."""
    with host.client() as newcomer, suppress(httpx.TransportError):
        return newcomer.get("/health", timeout=5).is_success
    return False


def test_a_database_that_is_away_is_no_reason_to_kill(host: Supervised) -> None:
    """Nor to end a run: all heartbeats are old when it is back, and their workers live."""
    run = host.begin(script=[{"text": "tick ", "n": 20 * 6 * int(SILENCE), "rate": 20}])
    wait_for(lambda: host.events(run["id"]), "the first events")
    restarts = host.log().count("starting it again")
    frozen = [pid for pid, line in host.pids().items() if "postgres" in line.partition(" ")[0]]
    assert len(frozen) > 3
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)  # connections stand, and nothing answers
    try:
        until, answers = time.monotonic() + 3 * SILENCE, 0
        while time.monotonic() < until:
            answers += httpx.get(f"{host.url}/health", timeout=5).status_code == 200
            time.sleep(0.1)
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    assert answers > 5
    host.wait_status(host.begin(script=TWO)["id"], "succeeded")
    host.wait_status(run["id"], "succeeded")
    assert host.log().count("starting it again") == restarts, host.log()[-4000:]


@pytest.mark.parametrize("crash", [False, True], ids=["by itself", "killed"])
def test_a_full_disk_is_waited_for(host: Supervised, crash: bool) -> None:
    """PostgreSQL refuses, panics or cannot start; once there is room, all goes on by itself."""
    need_root()
    run = host.begin(script=FOREVER)
    wait_for(lambda: host.events(run["id"]), "the first events")
    server, filler = host.postmaster(), fill(host.data.parent)
    try:
        wait_for(lambda: "writer.disk_full" in host.log(), "the writer to meet it")
        assert host.ready()["database"] == "disk full"
        if crash:
            os.kill(server, signal.SIGKILL)
            wait_for(lambda: host.logged(r"postgres stopped: the disk of \S+ is full"), "the news")
            # Recovery may succeed on what is left of the disk, or fail until there is room.
            answer = httpx.get(f"{host.url}/ready", timeout=60).json()
            assert answer["database"] == "disk full"
            assert answer["status"] in ("unavailable", "degraded")
    finally:
        filler.unlink()
    wait_for(lambda: host.ready().get("status") == "ready", "the host to be ready by itself")
    succeeds_soon(host, host.key, 60)
    with host.client() as client:
        client.post(f"/api/v1/runs/{run['id']}/cancel")
    # An outage that is longer than AGUI_WORKER_LOST_AFTER may cost the run, never its end.
    host.wait_status(run["id"], "cancelled", *["failed"] * crash)
    assert "was killed" not in host.log().partition("disk of")[2]


@pytest.mark.parametrize("hung", [False, True], ids=["busy", "hung"])
def test_nothing_outlives_an_up_that_was_killed(host: Supervised, hung: bool) -> None:
    """Its engines die with it, so the worker cannot store a thing, and leaves all the same."""
    host.start()
    runs = [host.begin("cli")["id"], host.begin(script=FOREVER)["id"]]
    for run_id in runs:
        wait_for(lambda run_id=run_id: len(host.events(run_id)) > 2, "the first events")
    if hung:
        host.wait_status(host.begin("stuck")["id"], "running")
    below = host.pids()
    assert sum("time.sleep(600)" in line for line in below.values()) >= 3
    assert host.process is not None
    host.process.kill()
    host.process.wait()
    # A hung worker is ended by its own timer, which a supervisor would have preceded.
    limit = 2 * SILENCE if hung else time_to_leave(1.0, 1.0)
    wait_for(lambda: not living(below), f"{living(below)} to be gone", limit + 5.0)
