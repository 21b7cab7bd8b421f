"""Reads that requests share which come at once: a thousand readers of one log need a few."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedReads(Generic[T]):
    """One read per key at a time, and one more after it for all who come in between.

    Only a read that has not begun is shared: an earlier one can miss data that was committed before
    its reader came.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, asyncio.Task[T]] = {}
        self._begun: dict[Hashable, asyncio.Task[T]] = {}

    def is_waiting(self, key: Hashable) -> bool:
        """Whether ``get`` would share a read."""
        return key in self._waiting

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """The result of ``read``, in the context of its first caller."""
        if (task := self._waiting.get(key)) is None:
            task = self._waiting[key] = asyncio.create_task(self._read(key, read))
            # Possibly no caller is left to ask for an error.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _read(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        if (earlier := self._begun.get(key)) is not None:
            await asyncio.wait([earlier])
        task = self._begun[key] = self._waiting.pop(key)
        try:
            return await read()
        finally:
            if self._begun.get(key) is task:
                del self._begun[key]
