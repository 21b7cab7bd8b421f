"""The channel layer of a host without Valkey: the groups of this process, on one ``Line``."""

import asyncio
import itertools
import threading
from collections.abc import Iterable
from typing import Any

from agui_host.backends.without_valkey.line import Line
from agui_host.backends.without_valkey.payloads import LOOK, Message, look, messages, payloads


class Mailbox:
    """A channel: the messages for one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.queue: asyncio.Queue[Message] = asyncio.Queue()

    def put(self, news: list[Message]) -> None:
        """Deliver from any thread; a loop that has closed needs nothing."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._put, news)

    def _put(self, news: list[Message]) -> None:
        for message in news:
            self.queue.put_nowait(message)


class PostgresLayer:
    """The part of Channels' interface that this host uses (see ``agui_host.backends.bell``)."""

    def __init__(self, **_: Any) -> None:
        self._mailboxes: dict[str, Mailbox] = {}
        self._groups: dict[str, set[str]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._line = Line(self._deliver)

    async def new_channel(self, prefix: str = "here") -> str:
        """A channel on which the running loop receives."""
        name = f"{prefix}!{next(self._numbers)}"
        with self._lock:
            self._mailboxes[name] = Mailbox()
        return name

    async def receive(self, channel: str) -> Message:
        """The channel's next message."""
        return await self._mailboxes[channel].queue.get()

    async def group_add(self, group: str, channel: str) -> None:
        """Return once the channel gets the group's messages. Raises if PostgreSQL is away."""
        with self._lock:
            self._groups.setdefault(group, set()).add(channel)
        await asyncio.wrap_future(self._line.listen())

    async def group_discard(self, group: str, channel: str) -> None:
        """Let the channel get no more of the group's messages."""
        with self._lock:
            channels = self._groups.get(group, set())
            channels.discard(channel)
            if not channels:
                self._groups.pop(group, None)

    async def group_send_many(self, items: Iterable[tuple[str, Message]]) -> None:
        """Publish each ``(group, message)`` by one statement. Raises if PostgreSQL is away."""
        if texts := payloads(items):
            await asyncio.wrap_future(self._line.ring(texts))

    async def hang_up_on_silence(self) -> None:
        """The line does so by itself: it pings, with a deadline."""

    def close(self) -> None:
        """End the line (at the end of a test)."""
        self._line.close()

    def _deliver(self, payload: str) -> None:
        with self._lock:
            if payload == LOOK:
                items = [(group, look(group)) for group in self._groups]
            else:
                items = list(messages(payload, self._groups))
            news: dict[str, list[Message]] = {}
            for group, message in items:
                for channel in self._groups[group]:
                    news.setdefault(channel, []).append(message)
            addressed = [(self._mailboxes[channel], texts) for channel, texts in news.items()]
        for mailbox, texts in addressed:
            mailbox.put(texts)
