"""The file store: bytes by key, streamed in and out. Knows no team and no upload."""

from collections.abc import AsyncGenerator, AsyncIterator
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

    async def delete(self, key: str) -> None:
        """Delete it; does nothing if it does not exist. Raises OSError."""
        ...
