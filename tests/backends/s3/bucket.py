"""A bucket on a server that speaks the protocol of S3, of an environment of its own."""

import socket
import subprocess
import time
import uuid
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
    with server() as address, opened(address) as url:
        yield url


@contextmanager
def server() -> Iterator[str]:
    """The address of a server, for tests that each open a bucket of its own."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [programs("moto", LOCK) / "moto_server", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextmanager
def opened(address: str) -> Iterator[str]:
    """An empty bucket of this server, as ``served``."""
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    name = f"bucket-{uuid.uuid4().hex}"
    _begin(f"{address}/{name}")
    try:
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in (env | {"AWS_ENDPOINT_URL": address}).items():
                patch.setenv(variable, value)
            yield f"s3://{name}/prefix"
    finally:
        file_store.cache_clear()


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
