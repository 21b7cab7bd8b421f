"""The sign of life of a web process: an answer, over a connection that is kept."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agui_host.embedded import liveness
from agui_host.embedded.liveness import Health
from tests.acceptance.host import wait_for


class Web(ThreadingHTTPServer):
    """A web process that counts its connections, and answers with ``status``."""

    daemon_threads = True
    connections, status, closes = 0, 200, False


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Web

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        assert self.path == "/health"
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        if self.server.closes:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def health(web: Web, monkeypatch: pytest.MonkeyPatch) -> Iterator[Health]:
    monkeypatch.setattr(liveness, "EVERY", 0.01)
    health = Health(web.server_port)
    health.begin()
    yield health
    health.end()


def hears(health: Health, times: int) -> None:
    for _ in range(times):
        wait_for(health.beat, "a sign of life")


def test_it_keeps_its_connection(web: Web, health: Health) -> None:
    """While strangers hold all connections that a web process takes, a new one is not answered."""
    hears(health, 5)
    assert web.connections == 1


def test_it_connects_again(web: Web, health: Health) -> None:
    """Any status is an answer, as while the database is away."""
    web.closes, web.status = True, 503
    hears(health, 5)
    assert web.connections > 1


def test_a_process_that_does_not_answer_gives_no_sign(web: Web, health: Health) -> None:
    web.closes = True
    hears(health, 1)
    web.shutdown()
    web.server_close()
    assert liveness.health(web.server_port) is None
    health.beat()  # of before
    with pytest.raises(AssertionError):
        wait_for(health.beat, "a sign of life", 0.5)
