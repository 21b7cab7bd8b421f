"""A team's webhook while another team attacks: when each message arrived."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from tests.soak.watching import Outcome

PATIENCE = 60.0


class Arrivals(ThreadingHTTPServer):
    """Answers each message at once, and keeps when the first one about a run came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiving)
        self.at: dict[str, float] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def delays(self, outcomes: list[Outcome]) -> list[float]:
        """Seconds from a run's end, as its reader saw it, to the message; waits for late ones."""
        ended = {each.id: each.ended for each in outcomes if each.status == "succeeded"}
        until = time.time() + PATIENCE
        while ended.keys() - self.at.keys() and time.time() < until:
            time.sleep(0.2)
        return [max(0.0, self.at.get(run, until) - moment) for run, moment in ended.items()]


class Receiving(BaseHTTPRequestHandler):
    """One message."""

    server: Arrivals
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.at.setdefault(body["data"]["id"], time.time())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The soak prints what came of it."""


@contextmanager
def hooked(client: httpx.Client) -> Iterator[Arrivals]:
    """A webhook of the client's team for runs that succeed."""
    with Arrivals() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            body = {"url": server.url, "events": ["run.succeeded"]}
            assert client.post("/api/v1/webhooks", json=body).status_code == 201
            yield server
        finally:
            server.shutdown()
