"""The file store: bytes by key, streamed in and out. Independent of teams and uploads."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Protocol

BLOCK = 256 * 1024
"""Bytes that are read or written at once."""


class FileStore(Protocol):
    """A directory or a bucket. Keys are ``team/file`` and never come from a client."""

    async def put(self, key: str, blocks: AsyncIterator[bytes]) -> None:
        """Store the whole, durably; nothing is there if ``blocks`` raises, which is passed on.

        Raises OSError if it cannot be stored.
        """
        ...

    def read(self, key: str) -> AsyncGenerator[bytes, None]:
        """The bytes, block by block. Raises FileNotFoundError, or OSError while it is away."""
        ...

    def range(self, key: str, start: int, length: int) -> bytes:
        """``length`` bytes from ``start`` on, or fewer at the end; it blocks, for seconds at most.

        Raises FileNotFoundError, or OSError while it is away.
        """
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys of all files below ``prefix/``. Raises OSError."""
        ...

    async def delete(self, key: str) -> None:
        """Delete it; does nothing if it does not exist. Raises OSError."""
        ...
