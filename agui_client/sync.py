"""The same client for programs without asyncio: a loop in its own thread does the work."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator, Mapping
from typing import Any, Self, TypeVar

from agui_client.client import DEFAULT_AGENT, AGUIClient
from agui_client.reading import Event

T = TypeVar("T")
_END = object()


class SyncAGUIClient:
    """``AGUIClient``, blocking: the same arguments and methods. ``cancel`` is thread-safe."""

    def __init__(self, endpoint: str, timeout: float = 60.0, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="agui-client", daemon=True
        )
        self._thread.start()
        self._client = self._wait(_made(endpoint, timeout, options))

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return self._client.thread_id

    @property
    def interrupts(self) -> list[Event]:
        """The questions that the newest run ended with."""
        return self._client.interrupts

    def send(self, message: str) -> str:
        """The agent's whole answer."""
        return self._wait(self._client.send(message))

    def stream(self, message: str) -> Iterator[str]:
        """The agent's answer, piece by piece."""
        return self._each(self._client.stream(message))

    def run(self, message: str | None = None, **input: Any) -> Iterator[Event]:
        """All events of a run."""
        return self._each(self._client.run(message, **input))

    def connect(self, agent: str = DEFAULT_AGENT) -> Iterator[Event]:
        """The thread so far, then its live run."""
        return self._each(self._client.connect(agent))

    def resume(self, answers: Mapping[str, Any]) -> str:
        """Answer the open questions; the agent's answer."""
        return self._wait(self._client.resume(answers))

    def cancel(self) -> bool:
        """Stop the newest run."""
        return self._wait(self._client.cancel())

    def close(self) -> None:
        """Leave, and end the thread."""
        if self._loop.is_closed():
            return
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _each(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        try:
            while (item := self._wait(_next(items))) is not _END:
                yield item
        finally:
            self._wait(_closed(items))


async def _made(endpoint: str, timeout: float, options: dict[str, Any]) -> AGUIClient:
    return AGUIClient(endpoint, timeout, **options)


async def _next(items: AsyncGenerator[T, None]) -> Any:
    return await anext(items, _END)


async def _closed(items: AsyncGenerator[Any, None]) -> None:
    await items.aclose()
