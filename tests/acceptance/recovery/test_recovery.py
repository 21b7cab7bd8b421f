"""Dead and frozen workers, dead and frozen Valkey, a restarted Postgres: what readers then see."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from agui_host.embedded import supervisor
from tests.acceptance.host import Host, sse, wait_for
from tests.conftest import own_host

pytestmark = pytest.mark.slow

NewHost = Callable[..., Host]
FOREVER = [{"text": "tick ", "n": 1_000_000, "rate": 50}]
TWO = [{"text": "hello ", "n": 2}]


class Reader(threading.Thread):
    """Reads a run over SSE in a thread: (seq, event, milliseconds after the event was made)."""

    def __init__(self, host: Host, run_id: str, after: int = 0) -> None:
        super().__init__(daemon=True)
        self.host, self.run_id, self.after = host, run_id, after
        self.events: list[tuple[int | None, dict[str, Any]]] = []
        self.late: list[float] = []
        self.start()

    def run(self) -> None:
        url = f"/api/v1/runs/{self.run_id}/events?after={self.after}"
        headers = {"Accept": "text/event-stream"}
        with (
            self.host.client() as client,
            client.stream("GET", url, headers=headers, timeout=120) as answer,
        ):
            import time

            for seq, event in sse(answer.iter_lines()):
                self.late.append(time.time() - event["timestamp"] / 1000)
                self.events.append((seq, event))

    def until(self, count: int) -> None:
        wait_for(lambda: len(self.events) >= count, f"{count} events")

    def finish(self, seconds: float = 60) -> dict[str, Any]:
        """The last event, once the stream has ended by itself."""
        self.join(seconds)
        assert not self.is_alive(), f"still reading after {seconds} s, at {self.events[-1:]}"
        assert [seq for seq, _ in self.events] == list(
            range(self.after + 1, self.after + len(self.events) + 1)
        )
        return self.events[-1][1]


@pytest.fixture(scope="module")
def strict() -> Iterator[Host]:
    """A host to which a silent worker soon counts as lost; each test starts that one again."""
    soon = {"AGUI_WORKER_LOST_AFTER": "4", "AGUI_HEARTBEAT": "0.5", "AGUI_REAP_EVERY": "0.5"}
    with own_host(**soon) as host:
        yield host


def test_killed_worker_ends_its_run_and_the_thread_goes_on(strict: Host) -> None:
    host = strict
    run = host.begin(script=FOREVER)
    reader = Reader(host, run["id"])
    reader.until(20)
    assert host.worker.process
    host.worker.process.kill()  # the only worker: the web process reaps
    last = reader.finish(60)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "worker_lost")
    ended = host.run(run["id"])
    assert (ended["status"], ended["error"]["code"]) == ("failed", "worker_lost")
    assert host.events(run["id"])[-1]["event"] == last
    host.restart(host.worker)
    again = host.begin(script=TWO, threadId=run["thread_id"])
    assert host.wait_status(again["id"], "succeeded", "failed")["status"] == "succeeded"


def test_frozen_worker_that_wakes_up_is_told_and_appends_nothing(strict: Host) -> None:
    host = strict
    run = host.begin(script=FOREVER)
    reader = Reader(host, run["id"])
    reader.until(20)
    host.freeze(host.worker)
    second = supervisor.worker(2.0)
    second.name = "second"
    host.spawn(second)
    try:
        assert reader.finish(60)["code"] == "worker_lost"
        log = host.events(run["id"])
        again = host.begin(script=TWO, threadId=run["thread_id"])
        assert host.wait_status(again["id"], "succeeded", "failed")["status"] == "succeeded"
        host.thaw(host.worker)
        wait_for(lambda: "run.lost_lease" in host.log_of(host.worker), "LostLease to be told")
        assert host.worker.process
        wait_for(lambda: host.worker.process.poll() is not None, "the woken worker to stop")
        assert host.events(run["id"]) == log
    finally:
        second.stop()


def test_a_postgres_restart_in_mid_run_loses_nothing(
    new_host: NewHost,
) -> None:
    host = new_host()
    run = host.begin(script=[{"text": "tick ", "n": 250, "rate": 50}])
    reader = Reader(host, run["id"])
    reader.until(50)
    assert host.engines
    host.engines.stop_postgres()
    host.engines.start_postgres()
    assert reader.finish(60)["type"] in ("RUN_FINISHED", "RUN_ERROR")
    ended = host.run(run["id"])
    assert ended["events"] == len(reader.events)
    assert ended["status"] == "succeeded", (ended["error"], host.log_of(host.worker)[-5000:])
    assert len(reader.events) >= 253
    host.engines.stop_postgres()
    joined = threading.Thread(target=lambda: codes.append(_close_code(host, run["id"])))
    codes: list[int | None] = []
    joined.start()
    accept = {**host.headers, "Accept": "text/event-stream"}
    answer = httpx.get(f"{host.url}/api/v1/runs/{run['id']}/events", headers=accept, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    joined.join(60)
    assert codes == [4412]  # not 1011, which tells a client that coming back is of no use
    host.engines.start_postgres()  # or the processes would wait for it when they are stopped


def _close_code(host: Host, run_id: str) -> int | None:
    url = f"{host.url.replace('http', 'ws', 1)}/ws/runs/{run_id}/"
    with connect(url, additional_headers=host.headers, open_timeout=60) as socket:
        with suppress(ConnectionClosed):
            socket.recv(60)
        return socket.protocol.close_code


def test_a_run_goes_on_when_its_only_reader_leaves(host: Host) -> None:
    body = {"forwardedProps": {"script": [{"text": "tick ", "n": 100, "rate": 50}]}}
    with (
        host.client() as client,
        client.stream("POST", "/agui/agent/scripted/run", json=body) as answer,
    ):
        run_id = answer.headers["content-location"].split("/")[-2]
        assert next(sse(answer.iter_lines()))[0] == 1
    assert host.wait_status(run_id, "succeeded", "failed", "cancelled")["status"] == "succeeded"
    assert host.run(run_id)["events"] == 104


def test_cancel_over_http_is_stored_within_seconds(host: Host) -> None:
    run = host.begin(script=FOREVER)
    reader = Reader(host, run["id"])
    reader.until(10)
    answer = httpx.post(f"{host.url}/api/v1/runs/{run['id']}/cancel", headers=host.headers)
    assert answer.status_code == 202
    assert reader.finish(20)["outcome"] == {"type": "cancelled"}
    assert host.run(run["id"])["status"] == "cancelled"
