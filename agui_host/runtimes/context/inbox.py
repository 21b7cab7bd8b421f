"""``ctx.inbox``: what people say to a run while its agent works (docs/howto-steer.md).

The agent takes a message out, and with that the message becomes three events of the log, in the
order of the agent's own: so readers see where it was read, and the thread has it once.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from agui_host.runtimes.context.outbox import Outbox


class InboxMessage(dict[str, Any]):
    """A message of a person in wire form: ``{"id", "role": "user", "content"}``.

    ``seq`` is its number in its run, from 1; ``author`` the label of who sent it.
    """

    def __init__(self, id: str, content: str, seq: int, author: str = "") -> None:
        super().__init__(id=id, role="user", content=content)
        self.seq = seq
        self.author = author

    @property
    def id(self) -> str:
        """The id that its sender gave it."""
        return str(self["id"])

    @property
    def content(self) -> str:
        """Its text."""
        return str(self["content"])


class Inbox:
    """The unread messages of one run; only ``poll`` is thread-safe.

    The host calls ``deliver`` and ``close``. ``read`` holds the messages that the agent has taken
    and whose events are not stored yet; ``accepted`` those that an agent elsewhere has taken, and
    whose events are its own to send. Such an agent's runtime calls ``wait`` and ``passed_on``.
    """

    __slots__ = (
        "_closed",
        "_outbox",
        "_unread",
        "_waiters",
        "accepted",
        "is_hungry",
        "look",
        "position",
        "read",
    )

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._unread: deque[InboxMessage] = deque()
        self._waiters: set[asyncio.Future[None]] = set()
        self._closed = False
        self.position = 0
        self.is_hungry = True
        """Whether the host may have messages that it has not delivered."""
        self.read: list[InboxMessage] = []
        self.accepted: list[InboxMessage] = []
        self.look: Callable[[], object] | None = None
        """Called when the agent asks for a message and finds none."""

    # --- the agent's side

    def poll(self) -> InboxMessage | None:
        """The oldest unread message, or None, at once; also for agents that are plain functions."""
        message = self._oldest()
        if message is not None:
            self._take(message)
        return message

    def __aiter__(self) -> AsyncIterator[InboxMessage]:
        return self

    async def __anext__(self) -> InboxMessage:
        await self._outbox.room()
        message = await self.wait()
        if message is None:
            raise StopAsyncIteration
        self._take(message)
        return message

    def _oldest(self) -> InboxMessage | None:
        try:
            return self._unread.popleft()
        except IndexError:
            if self.look is not None:
                self.look()
            return None

    def _take(self, message: InboxMessage) -> None:
        start, content, end = self.passed_on(message)
        # ``write`` ends a message of yielded text, so the agent's next words are a new one.
        self._outbox.write(start)
        self._outbox.put(content)
        self._outbox.put(end)

    # --- the side of a runtime whose agent is elsewhere

    async def wait(self) -> InboxMessage | None:
        """Take the oldest unread message out, without its events; None once the run has ended."""
        while (message := self._oldest()) is None and not self._closed:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
        return message

    def passed_on(self, message: InboxMessage) -> tuple[dict[str, Any], ...]:
        """The three events of a message that the agent has read; the runtime sends them."""
        # Listed first: the host looks for it among the events that it stores.
        self.read.append(message)
        name = {"messageId": message.id}
        return (
            {"type": "TEXT_MESSAGE_START", **name, "role": "user"},
            {"type": "TEXT_MESSAGE_CONTENT", **name, "delta": message.content},
            {"type": "TEXT_MESSAGE_END", **name},
        )

    # --- the host's side

    @property
    def waiting(self) -> int:
        """How many messages wait for the agent."""
        return len(self._unread)

    def deliver(self, messages: Iterable[InboxMessage]) -> None:
        """Add messages after ``position``, in the order of their numbers."""
        for message in messages:
            if message.seq > self.position:
                self.position = message.seq
                self._unread.append(message)
        if self._unread:
            self._wake()

    def withdraw(self, numbers: Collection[int]) -> None:
        """Take out unread messages whose senders have lost access."""
        for message in [message for message in self._unread if message.seq in numbers]:
            with suppress(ValueError):  # The agent's thread has taken it at this moment.
                self._unread.remove(message)

    def close(self) -> None:
        """End the iteration of an agent's task that is left over."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
