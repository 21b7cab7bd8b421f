"""A directory and a bucket keep the same promises: whole or nothing, and streamed."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agui_host.backends.file_store import file_store
from agui_host.backends.file_store.store import BLOCK, FileStore
from tests.backends.s3.bucket import served

KEY = "team/file"


@pytest.fixture(
    params=["directory", pytest.param("bucket", marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileStore]:
    if request.param == "directory":
        yield file_store(str(tmp_path / "files"))
        return
    with served() as url:
        yield file_store(url)


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
    assert store.range(KEY, BLOCK - 1, 2) == b"\x00\x01"
    assert store.range(KEY, 70 * BLOCK - 1, 2) == bytes([69])
    assert list(store.keys("team")) == [KEY]
    await store.delete(KEY)
    await store.delete(KEY)
    with pytest.raises(FileNotFoundError):
        await anext(store.read(KEY))
    with pytest.raises(FileNotFoundError):
        store.range(KEY, 0, 1)
    assert list(store.keys("team")) == []


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
