"""Floods of messages to runs whose workers are killed, and what must be true of each message."""

import http.client
import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from tests.acceptance.host import Host, wait_for
from tests.acceptance.recovery.rounds import SETTINGS, Pair
from tests.acceptance.recovery.steering.readers import STOP
from tests.conftest import own_data_dir

MODULE = "tests.acceptance.recovery.steering.readers"


@contextmanager
def attentive_hosts() -> Iterator[Pair]:
    """A host with two workers and the agents of ``readers``."""
    with own_data_dir() as data:
        host = Host(data, **SETTINGS | {"AGUI_AGENT_MODULES": MODULE})
        try:
            both = Pair(host.start())
            with host.client() as client:
                changes = {"recovery_attempts": 20, "recovery_pause": 0.1}
                answer = client.patch("/api/v1/agents/attentive", json=changes)
                assert answer.status_code == 200, answer.text
            yield both
        finally:
            if "both" in locals():
                both.second.kill()
                both.second.stop()
            host.worker.kill()
            host.stop()


class Sender(threading.Thread):
    """Sends messages to one run, each again until it is answered; ``numbers`` are by id.

    With a bare connection: a client library would take more of the processors than the host does.
    """

    def __init__(self, host: Host, run: str, count: int, *, until_refused: bool = False) -> None:
        super().__init__(daemon=True)
        self.host, self.wanted_run, self.count = host, run, count
        self.until_refused = until_refused
        self.numbers: dict[str, int] = {}
        self.refused = ""
        self.connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
        self.start()

    def run(self) -> None:
        with closing(self.connection):
            if self.say_all() and not self.until_refused:
                self.say("last", STOP)

    def say_all(self) -> bool:
        """Whether the run has taken all messages."""
        return all(self.say(f"m{number}", f"message {number}") for number in range(self.count))

    def say(self, id: str, content: str) -> bool:
        """Whether the run has taken the message."""
        body = json.dumps({"id": id, "role": "user", "content": content})
        while True:
            try:
                answer, text = self.post(body)
            except (OSError, http.client.HTTPException):
                self.connection.close()
                time.sleep(0.1)
                continue
            if answer.status == 429:
                time.sleep(float(answer.headers["Retry-After"]))
                continue
            if answer.status == 409 and self.until_refused:
                self.refused = id
                return False
            assert answer.status == 202, text
            self.numbers[id] = json.loads(text)["seq"]
            return True

    def post(self, body: str) -> tuple[http.client.HTTPResponse, bytes]:
        """The answer to one request, and its body."""
        headers = {**self.host.headers, "Content-Type": "application/json"}
        path = f"/api/v1/runs/{self.wanted_run}/messages"
        self.connection.request("POST", path, body, headers)
        answer = self.connection.getresponse()
        return answer, answer.read()


def flood(workers: Pair, seed: int, *, runs: int, each: int, kills: int) -> int:
    """Send messages to runs while workers are killed, and check each; how often runs continued."""
    workers.revive()
    dice, host = random.Random(seed), workers.host
    ids = [host.begin("attentive")["id"] for _ in range(runs)]
    senders = [Sender(host, run, each) for run in ids]
    for kill in range(kills):
        due = runs * each * (kill + dice.uniform(0.2, 0.9)) / kills
        wait_for(lambda: _sent(senders) >= due or _have_ended(senders), "messages", 600)  # noqa: B023
        victim = dice.choice(workers.jobs)
        if victim.process is not None:
            victim.process.send_signal(signal.SIGKILL)
            victim.process.wait(20)
        workers.revive()
    for sender in senders:
        sender.join(600)
        assert not sender.is_alive()
    return sum(_check(host, sender) for sender in senders)


def _sent(senders: list[Sender]) -> int:
    return sum(len(sender.numbers) for sender in senders)


def _have_ended(senders: list[Sender]) -> bool:
    return not any(sender.is_alive() for sender in senders)


def _check(host: Host, sender: Sender) -> int:
    """Each message has a number, is read once and in order, and the list names its event."""
    run = sender.wanted_run
    done = host.wait_status(run, "succeeded", "failed", "cancelled", "interrupted")
    log = [frame["event"] for frame in host.events(run)]
    assert done["status"] == "succeeded", log[-1]
    types = Counter(event["type"] for event in log)
    assert types["RUN_STARTED"] == types["RUN_FINISHED"] == 1
    assert list(sender.numbers.values()) == list(range(1, sender.count + 2))
    read = [
        (event["messageId"], seq)
        for seq, event in enumerate(log, 1)
        if event["type"] == "TEXT_MESSAGE_START" and event["role"] == "user"
    ]
    assert [id for id, _ in read] == list(sender.numbers), "each once, in order"
    assert {row["id"]: row["seen_seq"] for row in listed(host, run)} == dict(read)
    return sum(event.get("name") == "agui_host.recovered" for event in log)


def listed(host: Host, run: str) -> list[dict[str, Any]]:
    """The messages to a run, from all pages of the API."""
    rows: list[dict[str, Any]] = []
    with host.client() as client:
        url: str | None = f"/api/v1/runs/{run}/messages?limit=200"
        while url:
            page = client.get(url).json()
            rows += page["messages"]
            url = page["next"]
    return rows
