"""A receiver of webhooks that records each delivery, and often does not answer as it should."""

import hashlib
import http.server
import json
import random
import threading
import time
from types import TracebackType
from typing import Any, Self

import httpx
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.acceptance.host import wait_for
from tests.histories.recording import Recording

EVENTS = [
    "run.started", "run.succeeded", "run.failed", "run.cancelled", "run.interrupted",
    "interrupt.opened", "interrupt.answered",
]  # fmt: skip
TOO_LONG = 2.5
"""Seconds; more than AGUI_WEBHOOK_TIMEOUT."""


class Receiver:
    """One webhook of the team, at an address that does not lead through the proxy."""

    def __init__(self, recording: Recording, chance: random.Random) -> None:
        self.recording, self.chance = recording, chance
        self.refused: list[str] = []
        self.faults = 0
        self.id = ""
        self._judge: Webhook | None = None
        handler = type("Handler", (_Handler,), {"receiver": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def subscribe(self, client: httpx.Client) -> None:
        url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        answer = client.post("/api/v1/webhooks", json={"url": url, "events": EVENTS})
        answer.raise_for_status()
        self.id = answer.json()["id"]
        self._judge = Webhook(answer.json()["secret"])
        self.recording.write("webhook", webhook=self.id, events=EVENTS)

    def take(self, headers: dict[str, str], body: bytes) -> None:
        assert self._judge
        try:
            self._judge.verify(body, headers)
        except WebhookVerificationError as error:
            self.refused.append(f"webhook {headers.get('webhook-id')}: {error!r}")
        message = json.loads(body)
        data = message["data"]
        final, repeated_by = data.pop("final", None), data.pop("repeated_by", None)
        del message["epoch"]  # that of each try
        is_question = message["type"].startswith("interrupt.")
        canonical = json.dumps(message, sort_keys=True).encode()
        self.recording.write(
            "delivery", webhook=self.id, id=headers["webhook-id"], type=message["type"],
            run=data["run"]["id"] if is_question else data["id"],
            interrupt=data["id"] if is_question else None,
            hash=hashlib.sha256(canonical).hexdigest()[:16], at=message["timestamp"],
            final=final, repeated_by=repeated_by,
        )  # fmt: skip

    def wait_for_all(self, client: httpx.Client, seconds: float) -> None:
        """Until no delivery waits for another try."""

        def waiting() -> Any:
            url = f"/api/v1/webhooks/{self.id}/deliveries"
            return client.get(url, params={"status": "pending"}).json()["results"]

        wait_for(lambda: not waiting(), "the deliveries to arrive", seconds)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    receiver: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        body = self.rfile.read(length)
        if len(body) < length:
            return  # its sender was killed in the middle of it
        self.receiver.take({k.lower(): v for k, v in self.headers.items()}, body)
        how = self.receiver.chance.random()
        self.receiver.faults += how < 0.1
        if how < 0.03:
            time.sleep(TOO_LONG)  # longer than a sender waits
        if how < 0.06:
            self.close_connection = True  # without an answer
            return
        self.send_response(500 if how < 0.1 else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass
