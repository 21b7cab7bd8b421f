"""The buffer between an agent and the stream of its run, for yielded and emitted events.

The agent runs in its own task (or thread) and puts events in; the runtime takes them out. One
order, no timer, bounded: an agent that yields is not advanced while ``HIGH`` events wait, a thread
blocks in ``put``, and an async agent that emits without ``drain`` fails at ``FLOOD``.
"""

import asyncio
import threading
import uuid
from collections import deque
from typing import Any

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.errors import RunErrorCode, RunFailed

HIGH = 512
FLOOD = 20_000
CONTAINERS: frozenset[Any] = frozenset({dict, list})
# SDK events whose fields are all text, so they share nothing with the agent's own data.
FLAT = frozenset(
    f"{name}Event"
    for part in ("TextMessage", "ToolCall", "ReasoningMessage", "Reasoning", "Step")
    for name in (f"{part}Start", f"{part}Started", f"{part}Content", f"{part}Args", f"{part}End")
)


class Outbox:
    """Events on their way out of one agent; only ``put`` and ``close`` are thread-safe."""

    def __init__(self) -> None:
        self.queue: deque[Any] = deque()
        self.cancelled = False
        self.over = False
        self.spoke = False
        self.failure: BaseException | None = None
        self.text_id: str | None = None
        self.waiter: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._stalled = False
        self._space = asyncio.Event()
        self._drains: list[asyncio.Future[None]] = []
        self._threads = threading.Condition()

    def open(self) -> None:
        """Bind to the running loop; its thread never blocks in ``put``."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    # --- the agent's side

    def put(self, event: Any) -> None:
        """Add one event; raises CancelledError once the run is cancelled, RunFailed on a flood."""
        if self.cancelled:
            raise asyncio.CancelledError("the run was cancelled")
        if self.over:
            raise RuntimeError("the agent's run has ended; it can no longer emit events")
        if self.is_foreign():
            self._block()
        elif len(self.queue) >= FLOOD:
            self.failure = RunFailed(
                RunErrorCode.EVENT_FLOOD,
                f"The agent emitted {FLOOD} events without waiting for them to be written.",
            )
            raise self.failure
        self._append(event)

    def close(self, event: Any) -> None:
        """Add an event that closes something; dropped after a cancel.

        The host then closes open parts, and raising here would replace the exception
        that is on its way.
        """
        if not (self.cancelled or self.over):
            self._append(event)

    def write(self, item: Any) -> None:
        """Take an item that an agent yielded: text joins one message, anything else is an event."""
        if isinstance(item, str):
            self.text(item)
            return
        if self.text_id is not None:
            self.end_text()
        self.put(frozen(item))

    def text(self, delta: str) -> None:
        """Append to the open message of yielded text, or open one."""
        if not delta:
            return
        if self.text_id is None:
            message_id = str(uuid.uuid4())
            self.put({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})
            self.text_id = message_id
        self.put({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.text_id, "delta": delta})

    def end_text(self) -> None:
        """Close the message of yielded text, if one is open."""
        if self.text_id is not None:
            message_id, self.text_id = self.text_id, None
            self.close({"type": "TEXT_MESSAGE_END", "messageId": message_id})

    def is_foreign(self) -> bool:
        """Whether the caller is in another thread than the loop's."""
        return self._loop is not None and threading.get_ident() != self._thread

    def _append(self, event: Any) -> None:
        self.spoke = True
        self.queue.append(event)
        if self.waiter is None:
            return
        if self.is_foreign() and self._loop is not None:
            self._loop.call_soon_threadsafe(self.wake)
        else:
            self.wake()

    async def room(self) -> None:
        """Wait until the outbox has room, or the run is cancelled."""
        while len(self.queue) >= HIGH and not self.cancelled:
            self._stalled = True
            self._space.clear()
            await self._space.wait()

    def _block(self) -> None:
        with self._threads:
            while len(self.queue) >= HIGH and not self.cancelled:
                self._stalled = True
                self._threads.wait()
        if self.cancelled:
            raise asyncio.CancelledError("the run was cancelled")

    # --- the runtime's side

    def wake(self) -> None:
        """Wake the reader, if it waits."""
        waiter, self.waiter = self.waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def more(self) -> bool:
        """Wait for the next event, with the queue empty; False when the agent has ended."""
        if self._stalled:
            self._release()
        waiter = self.waiter = asyncio.get_running_loop().create_future()
        # Checked only now: a thread first appends an event and then looks for a waiter.
        if self._drains and not self.queue:
            self._drained()
        if self.queue or self.over:
            self.waiter = None
        else:
            await waiter
        return bool(self.queue) or not self.over

    async def taken(self) -> None:
        """Wait until the runtime has taken every event that was put so far."""
        if self.queue or self.waiter is None:
            drained = asyncio.get_running_loop().create_future()
            self._drains.append(drained)
            await drained

    def _drained(self) -> None:
        for waiting in self._drains:
            if not waiting.done():
                waiting.set_result(None)
        self._drains.clear()

    def cancel(self) -> None:
        """The reader has left: wake waiting producers, and make the next ``put`` raise."""
        self.cancelled = True
        self._release()

    def _release(self) -> None:
        with self._threads:
            self._stalled = False
            self._threads.notify_all()
        self._space.set()


def frozen(item: Any) -> Any:
    """``item`` as it is now; it waits in a buffer, and agents often change yielded values.

    An example is one state dictionary sent after every change. Anything that cannot be copied
    passes unchanged; intake refuses it.
    """
    if item.__class__ is dict:
        flat: dict[Any, Any] = item
        for value in flat.values():
            if value.__class__ in CONTAINERS:
                return _copied(flat)
        return flat.copy()
    if item.__class__.__name__ in FLAT or not hasattr(item, "model_copy"):
        return item
    try:
        return item.model_copy(deep=True)
    except Exception:  # a diagnostic of it holds a client, a lock or itself
        return item.model_copy(update=_copied(vars(item)))


def _copied(item: dict[Any, Any]) -> Any:
    try:
        return deep_copy(item)
    except RecursionError:  # contains itself, or is too deep for any encoder
        return item
