"""Webhooks while the worker is killed again and again, between a commit and its delivery."""

import http.server
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from benchmarks.report import keep
from runs.models.webhook import EVENTS
from tests.acceptance.host import Host, wait_for

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]
KILLS = int(os.environ.get("SOAK_KILLS", "100"))
OF_A_ROUND = 4
SLOWEST = 0.3
"""Seconds that the receiver takes at most, so that kills hit calls that are under way."""
LEASE = 2.0


class Receiver(http.server.ThreadingHTTPServer):
    """Answers 200 after a moment; has what came, and what of it the judge refused."""

    daemon_threads = True

    def __init__(self, chance: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.chance = chance
        self.messages: list[tuple[dict[str, str], bytes]] = []
        self.judge: Webhook | None = None
        self.refused: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # its sender was killed in the middle of it
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.messages.append((headers, body))
        try:  # at once: a message is too old five minutes after it was signed
            assert self.server.judge
            self.server.judge.verify(body, headers)
        except WebhookVerificationError as error:
            self.server.refused.append(repr(error))
        time.sleep(self.server.chance.uniform(0, SLOWEST))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def receiving(chance: random.Random) -> Iterator[Receiver]:
    with Receiver(chance) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def deliveries(client: httpx.Client, webhook: str, **filters: str) -> list[dict[str, Any]]:
    """All rows of the delivery log."""
    rows: list[dict[str, Any]] = []
    page: str | None = f"/api/v1/webhooks/{webhook}/deliveries"
    while page:
        answer = client.get(page, params=filters or None).json()
        rows, page, filters = rows + answer["results"], answer["next"], {}
    return rows


def test_kills_of_the_worker_lose_no_delivery(new_host: Callable[..., Host]) -> None:
    host = new_host(
        AGUI_OUTBOUND_ALLOW="127.0.0.1", AGUI_WEBHOOK_TIMEOUT=str(LEASE), AGUI_HEARTBEAT="1",
        AGUI_WORKER_LOST_AFTER="4", AGUI_REAP_EVERY="1",
    )  # fmt: skip
    chance = random.Random(11)
    hits, runs = 0, []
    with receiving(chance) as receiver, host.client() as client:
        url = f"http://127.0.0.1:{receiver.server_address[1]}/"
        hook = client.post("/api/v1/webhooks", json={"url": url, "events": list(EVENTS)}).json()
        receiver.judge = Webhook(hook["secret"])
        for _ in range(KILLS):
            # Their ends are committed by the web process, whatever the worker does.
            for _ in range(OF_A_ROUND):
                run = host.begin(script=[{"sleep": 60}])["id"]
                client.post(f"/api/v1/runs/{run}/cancel")
                runs.append(run)
            time.sleep(chance.uniform(0, 2 * SLOWEST))  # the moment of the kill
            assert host.worker.process
            host.worker.process.send_signal(signal.SIGKILL)
            host.worker.process.wait(20)
            hits += bool(deliveries(client, hook["id"], status="pending"))
            host.restart(host.worker)
        for run in runs:
            host.wait_status(run, "cancelled", "failed")
        wait_for(lambda: not deliveries(client, hook["id"], status="pending"), "deliveries", 180)
        log = deliveries(client, hook["id"])
    assert hits, "no kill came between a commit and its delivery"
    assert {row["status"] for row in log} == {"delivered"}
    assert receiver.refused == []
    arrived = Counter(headers["webhook-id"] for headers, _ in receiver.messages)
    assert arrived.keys() == {row["id"] for row in log}
    for row in log:
        assert [attempt["status"] for attempt in row["attempts"]].count(200) == 1, row
    ends = Counter(row["run"] for row in log if row["type"] in ("run.cancelled", "run.failed"))
    assert ends == dict.fromkeys(runs, 1)
    again = sum(arrived.values()) - len(arrived)
    keep(
        "webhook-kills",
        [
            f"{KILLS} SIGKILLs of the worker, {hits} of them with deliveries under way",
            f"{len(runs)} runs, {len(log)} deliveries: each arrived, and succeeded once in the log",
            f"{again} messages came again under their id, because their answer was lost",
        ],
    )
