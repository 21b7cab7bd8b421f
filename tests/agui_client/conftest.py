"""Servers of ``AGUIServer`` on ports of their own."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.acceptance.host import ROOT, free_port, wait_for

Serve = Callable[[str], str]


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """``serve("module:app")``: its address."""
    started: list[subprocess.Popen[bytes]] = []

    def serve(app: str) -> str:
        port = free_port()
        command = ["granian", "--interface", "asgi", "--no-access-log", "--port", str(port), app]
        started.append(subprocess.Popen([sys.executable, "-m", *command], cwd=ROOT))
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: healthy(url), f"{app} to answer")
        return url

    yield serve
    for process in started:
        process.terminate()
        process.wait(20)


def healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
