"""A directory and a bucket keep the same promises: whole or nothing, and streamed."""

import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from backends.file_store import file_store
from backends.file_store.store import BLOCK, FileStore
from tests.clients.environments import programs

LOCK = Path(__file__).parent / "s3" / "requirements.lock"
KEY = "team/file"


@pytest.fixture(
    params=["directory", pytest.param("bucket", marks=[pytest.mark.soak, pytest.mark.timeout(300)])]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileStore]:
    if request.param == "directory":
        yield file_store(str(tmp_path / "files"))
        return
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
        begin(f"{env['AWS_ENDPOINT_URL']}/bucket")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            yield file_store("s3://bucket/prefix")
    finally:
        file_store.cache_clear()
        server.kill()
        server.wait()


def begin(bucket: str) -> None:
    """Make the bucket, once the server is there."""
    until = time.monotonic() + 60
    while True:
        try:
            assert httpx.put(bucket, timeout=10).status_code == 200
            return
        except httpx.TransportError:
            assert time.monotonic() < until, "the server does not come up"
            time.sleep(0.1)


async def blocks(number: int, *, fails: bool = False) -> AsyncIterator[bytes]:
    for each in range(number):
        yield bytes([each % 251]) * BLOCK
    if fails:
        raise ValueError("the client left")


async def test_what_a_store_promises(store: FileStore) -> None:
    for number in (1, 70):  # one request, and several parts of an upload
        await store.put(KEY, blocks(number))
        assert b"".join([piece async for piece in store.read(KEY)]) == b"".join(
            [piece async for piece in blocks(number)]
        )
        with pytest.raises(ValueError, match="left"):
            await store.put("team/other", blocks(number, fails=True))
        with pytest.raises(FileNotFoundError):
            await anext(store.read("team/other"))
    await store.delete(KEY)
    await store.delete(KEY)
    with pytest.raises(FileNotFoundError):
        await anext(store.read(KEY))


async def test_a_directory_that_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("no directory")
    with pytest.raises(OSError, match="directory"):
        await file_store(str(tmp_path / "files")).put(KEY, blocks(1))


async def test_what_a_process_left_goes_with_its_file(tmp_path: Path) -> None:
    store = file_store(str(tmp_path))
    await store.put(KEY, blocks(1))
    (tmp_path / f"{KEY}.half").write_text("half")
    await store.delete(KEY)
    assert os.listdir(tmp_path / "team") == []
