"""What strangers can do to a running host before they are anybody: nothing that others notice."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import httpx
import pytest

from tests.acceptance.host import Host
from tests.conftest import own_data_dir

pytestmark = pytest.mark.slow
HALF = 60


@pytest.fixture(scope="module")
def hasty() -> Iterator[Host]:
    """A host that waits a second for headers and bodies, and takes 100 kB."""
    with own_data_dir() as data:
        host = Host(
            data,
            AGUI_BODY_TIMEOUT="1",
            AGUI_MAX_BODY_BYTES="100000",
        )
        command = host.web.command
        command[command.index("--http1-header-read-timeout") + 1] = "1000"
        try:
            yield host.start()
        finally:
            host.stop()


def dial(host: Host, text: str) -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", host.port), timeout=30)
    peer.sendall(text.encode())
    return peer


def answer_of(peer: socket.socket) -> bytes:
    """All that the host says until it hangs up."""
    answer = b""
    with peer:
        while piece := peer.recv(65536):
            answer += piece
    return answer


def test_half_sent_requests_are_hung_up_on(hasty: Host) -> None:
    body = "POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf"
    peers = [dial(hasty, body) for _ in range(HALF)]
    answers = [answer_of(peer) for peer in peers]
    assert {answer.split(b"\r\n", 1)[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
    assert answer_of(dial(hasty, "POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:")) == b""


def test_chunks_without_end_stop_at_the_limit(hasty: Host) -> None:
    peer = dial(hasty, "POST /login/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk, count = b"10000\r\n" + b"x" * 65_536 + b"\r\n", 0
    with peer:
        try:
            while count < 100 * len(chunk):
                count += peer.send(chunk)
        except OSError:
            pass  # it hung up while we were talking
        assert count < 100 * len(chunk), "the host took them all"
    assert httpx.get(f"{hasty.url}/health").status_code == 200


@pytest.mark.alone
def test_the_description_costs_strangers_nothing(hasty: Host) -> None:
    limits = httpx.Limits(max_connections=50)
    with (
        httpx.Client(base_url=hasty.url, timeout=60, limits=limits) as strangers,
        httpx.Client(base_url=hasty.url, timeout=60) as probe,
        ThreadPoolExecutor(40) as pool,
    ):
        probe.get("/health")
        requests = [pool.submit(strangers.get, "/api/schema/") for _ in range(40)]
        slowest = 0.0
        while wait(requests, timeout=0).not_done:
            began = time.monotonic()
            assert probe.get("/health").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
        answers = [each.result() for each in requests]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.headers["etag"] for answer in answers}) == 1
    print(f"/health {slowest * 1000:.0f} ms")  # see with -rP
    assert slowest < 1.0  # 0.2 s on a quiet machine; it was many seconds
