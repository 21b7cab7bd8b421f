"""A bucket on a server that speaks the protocol of S3, of an environment of its own."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from agui_host.backends.file_store import file_store
from tests.clients.environments import programs

LOCK = Path(__file__).parent / "requirements.lock"


@contextmanager
def served() -> Iterator[str]:
    """The address of an empty bucket, for ``AGUI_FILES``; the environment names its server."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    env["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [programs("moto", LOCK) / "moto_server", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _begin(f"{env['AWS_ENDPOINT_URL']}/bucket")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            yield "s3://bucket/prefix"
    finally:
        file_store.cache_clear()
        server.kill()
        server.wait()


def _begin(bucket: str) -> None:
    """Make the bucket, once the server is there."""
    until = time.monotonic() + 60
    while True:
        try:
            assert httpx.put(bucket, timeout=10).status_code == 200
            return
        except httpx.TransportError:
            assert time.monotonic() < until, "the server does not come up"
            time.sleep(0.1)
