"""The doctor in front of a proxy that buffers, compresses, or passes no socket on."""

import http.client
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agui_host.web import proxy_probe
from tests.acceptance.host import ROOT, Host
from tests.conftest import own_host

UPGRADES = ("upgrade", "connection", "sec-websocket-key", "sec-websocket-version")


@contextmanager
def proxy(target: int, mode: str) -> Iterator[str]:
    """A proxy of HTTP/1.0 in front of a port of this machine, as a careless one is configured."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = dict(self.headers.items())
            if mode == "nameless":
                headers["Host"] = "upstream.internal"
            upstream = http.client.HTTPConnection("127.0.0.1", target, timeout=10)
            # A client that is refused its socket leaves in the middle of an answer.
            with closing(upstream), suppress(OSError):
                self.pass_on(upstream, headers)

        def pass_on(self, upstream: http.client.HTTPConnection, headers: dict[str, str]) -> None:
            dropped = () if mode == "plain" else UPGRADES
            passed = {name: headers[name] for name in headers if name.lower() not in dropped}
            upstream.request("GET", self.path, headers=passed)
            answer = upstream.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            if mode == "compressing":
                self.send_header("content-encoding", "deflate")
            self.end_headers()
            if mode in ("buffering", "compressing"):
                body = answer.read()
                self.wfile.write(zlib.compress(body) if mode == "compressing" else body)
            elif answer.status != http.client.SWITCHING_PROTOCOLS:
                while piece := answer.read1():
                    self.wfile.write(piece)
            answer.close()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    """A host as it starts: other tests leave teams and agents in the one that tests share."""
    with own_host() as host:
        yield host


def doctor(host: Host, url: str = "") -> tuple[int, dict[str, str]]:
    """The exit code, and by subject the line of the doctor."""
    command = [sys.executable, "manage.py", "doctor"]
    env = host.env | ({"AGUI_PUBLIC_URL": url} if url else {})
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    lines = {line[7:20].strip(): line for line in done.stdout.splitlines()}
    assert "Traceback" not in done.stderr
    return done.returncode, lines


def test_a_host_as_it_starts_is_sound(host: Host) -> None:
    code, lines = doctor(host)
    assert (code, [line for line in lines.values() if not line.startswith("ok ")]) == (0, [])
    assert "default: 1" in lines["workers"]


def test_a_proxy_as_it_should_be(host: Host) -> None:
    with proxy(host.port, "plain") as url:
        code, lines = doctor(host, url)
    assert code == 0, lines
    assert "arrive event by event" in lines["streams"]
    assert "pass through" in lines["websockets"]


@pytest.mark.parametrize(
    ("mode", "subject", "text"),
    [
        ("buffering", "streams", "The proxy buffers streams"),
        ("compressing", "streams", "The proxy compresses streams (deflate)"),
        ("without sockets", "websockets", "is not accepted: 200"),
        ("nameless", "public url", "the proxy does not pass the Host header on"),
    ],
)
def test_a_planted_fault_of_a_proxy(host: Host, mode: str, subject: str, text: str) -> None:
    with proxy(host.port, mode) as url:
        code, lines = doctor(host, url)
    assert code == 1
    assert lines[subject].startswith("fault ")
    assert text in lines[subject]
    assert " Remedy: " in lines[subject]


def test_an_address_that_leads_elsewhere(host: Host) -> None:
    code, lines = doctor(host, "http://127.0.0.1:1")
    assert code == 1
    assert "cannot be reached" in lines["public url"]
    assert "was not checked" in lines["streams"]


def test_only_the_hosts_own_key_opens_the_probe(host: Host) -> None:
    for query in (proxy_probe.path(), "/health?probe=probe:x:y", "/health?probe="):
        connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=10)
        connection.request("GET", query)  # signed with the key of the tests, not of that host
        answer = connection.getresponse()
        assert answer.getheader("content-type") == "application/json"
        connection.close()
