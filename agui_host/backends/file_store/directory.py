"""A file store in a directory; several machines need a shared one."""

import functools
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from agui_host.backends.file_store.store import BLOCK
from agui_host.backends.postgres.lanes import Lanes
from agui_host.backends.threads import turn_in

T = TypeVar("T")
THREADS = 4


@functools.cache
def _threads() -> Lanes:
    # Separate: a disk that hangs must hold up nothing else.
    return Lanes(THREADS, "files")


async def _in_thread(fn: Callable[..., T], *args: object) -> T:
    return await turn_in(_threads(), fn, *args)


class Directory:
    """Each file below ``root`` under its key; an incomplete one has a temporary name."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def put(self, key: str, blocks: AsyncIterator[bytes]) -> None:
        """Write to a passing name, then rename: a file with the final name is whole and on disk."""
        target = self.root / key
        passing = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        file = await _in_thread(_create, passing)
        try:
            async for block in blocks:
                await _in_thread(file.write, block)
            await _in_thread(_settle, file, passing, target)
        except BaseException:
            file.close()
            with suppress(OSError):
                passing.unlink()
            raise

    async def read(self, key: str) -> AsyncGenerator[bytes, None]:
        """The bytes, block by block."""
        file = await _in_thread(_open, self.root / key)
        try:
            while block := await _in_thread(file.read, BLOCK):
                yield block
        finally:
            file.close()

    def range(self, key: str, start: int, length: int) -> bytes:
        """Read them in the calling thread."""
        with _open(self.root / key) as file:
            file.seek(start)
            return file.read(length)

    def keys(self, prefix: str) -> Iterator[str]:
        """Incomplete files also have a key."""
        for path in (self.root / prefix).rglob("*"):
            if path.is_file():
                yield str(path.relative_to(self.root))

    async def delete(self, key: str) -> None:
        """Unlink it, and the parts that a dead process left."""
        await _in_thread(_remove, self.root / key)


def _create(path: Path) -> BinaryIO:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _settle(file: BinaryIO, passing: Path, target: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()
    passing.rename(target)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _remove(target: Path) -> None:
    target.unlink(missing_ok=True)
    for passing in target.parent.glob(f"{target.name}.*"):
        passing.unlink(missing_ok=True)
