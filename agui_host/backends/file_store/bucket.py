"""A file store in a bucket of S3, or of anything that speaks its protocol, by ``obstore``.

The credentials, the region and the address of another service are read from the environment as all
tools of AWS do: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_REGION``,
``AWS_ENDPOINT_URL``.
"""

import atexit
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from datetime import timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from agui_host.backends.file_store.store import BLOCK

PART = 8 * 1024 * 1024
AT_ONCE = 2
QUICK = "10s"
"""For a reader who waits for one piece."""
LAST_WAIT = 0.2
# The threads of obstore touch Python's objects once more after their answer. A process that ends at
# that moment would be aborted (SIGABRT) after all its work was done.
atexit.register(time.sleep, LAST_WAIT)


class Bucket:
    """Objects of a bucket; their size in memory is bounded by ``PART`` times ``AT_ONCE``."""

    def __init__(self, url: str) -> None:
        self._store = S3Store.from_url(
            url, client_options={"timeout": "60s", "connect_timeout": "5s", "allow_http": True}
        )
        self._quick = S3Store.from_url(
            url,
            client_options={"timeout": QUICK, "connect_timeout": "5s", "allow_http": True},
            retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=10)},
        )

    async def put(self, key: str, blocks: AsyncIterator[bytes]) -> None:
        """One request for a small file, a multipart upload for others."""
        failure: list[BaseException] = []

        async def watched() -> AsyncIterator[bytes]:
            try:
                async for block in blocks:
                    yield block
            except BaseException as error:
                failure.append(error)
                raise

        try:
            await obstore.put_async(
                self._store, key, watched(), chunk_size=PART, max_concurrency=AT_ONCE
            )
        except Exception as error:
            if failure:
                raise failure[0] from None
            raise OSError(f"The bucket refused a file ({type(error).__name__}).") from error

    async def read(self, key: str) -> AsyncGenerator[bytes, None]:
        """The object, as it comes."""
        try:
            result = await obstore.get_async(self._store, key)
            async for block in result.stream(min_chunk_size=BLOCK):
                yield bytes(block)
        except BaseError as error:
            raise OSError(f"The bucket gave no file ({type(error).__name__}).") from error

    def range(self, key: str, start: int, length: int) -> bytes:
        """One request, in the calling thread."""
        try:
            return bytes(obstore.get_range(self._quick, key, start=start, length=length))
        except BaseError as error:
            raise OSError(f"Reading in the bucket failed ({type(error).__name__}).") from error

    def keys(self, prefix: str) -> Iterator[str]:
        """As the bucket lists them."""
        try:
            for page in obstore.list(self._store, prefix):
                yield from (each["path"] for each in page)
        except BaseError as error:
            raise OSError(f"Listing the bucket failed ({type(error).__name__}).") from error

    async def delete(self, key: str) -> None:
        """Delete the object."""
        with suppress(FileNotFoundError):
            try:
                await obstore.delete_async(self._store, key)
            except BaseError as error:
                raise OSError(f"The bucket kept a file ({type(error).__name__}).") from error
