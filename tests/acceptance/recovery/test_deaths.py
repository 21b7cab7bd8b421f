"""A worker dies or is stopped under its supervisor: readers learn it at once, and so does the run.

With the default settings, by which a silent worker is lost after 20 to 30 seconds.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.acceptance.host import Host, sse, wait_for
from tests.acceptance.supervised import Supervised
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow

SCRIPT = [{"text": "tick ", "n": 1_000_000, "rate": 20}]
REPEATABLE = "Agent.objects.for_operators().update(repeatable=True)\n"
WITHIN = 5.0
"""Two seconds on a machine with nothing else to do."""
TOGETHER = 1.0


class Reader(threading.Thread):
    """Reads a run to its end: when its last event came, and which one that was."""

    def __init__(self, host: Host, run: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.host, self.wanted_run = host, run
        self.count, self.ended_at = 0, 0.0
        self.last: dict[str, Any] = {}
        self.start()

    def take(self, event: dict[str, Any]) -> None:
        self.count, self.last, self.ended_at = self.count + 1, event, time.monotonic()


class Stream(Reader):
    def run(self) -> None:
        url = f"/api/v1/runs/{self.wanted_run['id']}/events?after=0"
        accept = {"Accept": "text/event-stream"}
        with (
            self.host.client() as client,
            client.stream("GET", url, headers=accept, timeout=120) as answer,
        ):
            for _, event in sse(answer.iter_lines()):
                self.take(event)


class Socket(Reader):
    """Over ``/ws/``: of one run, or of all runs of a thread."""

    method, target = "run.subscribe", {"run": "id"}

    def run(self) -> None:
        url = self.host.url.replace("http", "ws") + "/ws/"
        with connect(
            url, additional_headers=self.host.headers, subprotocols=["agui.host.v1"]
        ) as socket:
            params = {name: self.wanted_run[member] for name, member in self.target.items()}
            call = {"jsonrpc": "2.0", "id": 1, "method": self.method}
            socket.send(json.dumps({**call, "params": {**params, "after": 0}}))
            while self.last.get("type") != "RUN_ERROR":
                frame = json.loads(socket.recv(120))
                if frame.get("method") != "event":
                    continue
                event = frame["params"]
                self.take(event["event"])
                ack = {name: event[name] for name in ("subscription", "run", "seq")}
                socket.send(json.dumps({"jsonrpc": "2.0", "method": "ack", "params": ack}))


class ThreadSocket(Socket):
    method, target = "thread.subscribe", {"thread_id": "thread_id"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    with own_data_dir() as data:
        host = Supervised(Path(data), seed=REPEATABLE)
        host.log_path = tmp_path_factory.mktemp("up") / "up.log"
        try:
            yield host.start()
        finally:
            host.stop()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_all_readers_learn_it_at_once(host: Supervised, how: signal.Signals) -> None:
    host.wait_ready()
    run = host.begin(script=SCRIPT)
    readers = [kind(host, run) for kind in (Stream, Socket, ThreadSocket)]
    wait_for(lambda: all(reader.count > 40 for reader in readers), "the first events")
    began = time.monotonic()
    os.kill(host.pid_of("--pulse"), how)
    for reader in readers:
        reader.join(60)
        assert (reader.last["type"], reader.last["code"]) == ("RUN_ERROR", "worker_lost")
    moments = [reader.ended_at - began for reader in readers]
    assert max(moments) < WITHIN, moments
    assert max(moments) - min(moments) < TOGETHER, moments
    lost = host.run(run["id"])
    again = lost["repeated_by"]
    assert readers[0].last["metadata"] == {"repeatedBy": again}
    assert (lost["status"], host.run(again)["repeats"]) == ("failed", run["id"])
    host.wait_status(again, "running")
    wait_for(lambda: len(host.events(again)) > 3, "events of the next attempt")
    with host.client() as client:
        client.post(f"/api/v1/runs/{again}/cancel")
    host.wait_status(again, "cancelled")
    log = host.events(run["id"])
    assert [event["seq"] for event in log] == list(range(1, readers[0].count + 1))
