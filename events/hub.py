"""Hub: one per web process. Delivers notified frames to readers; detects lost ones.

Others may listen to a topic of the bell as well: an open stream does, to learn whether it may
continue.

The layer confirms neither subscriptions nor reconnects, and a lost *last* message leaves no visible
gap. So every ``AGUI_HUB_TICK`` seconds one query compares all local readers with the heads of their
journals, and those still behind the *previous* tick's head are sent to Postgres: a reader whose
frames are on their way is left alone.
"""

import asyncio
import collections
import contextvars
import functools
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any
from uuid import UUID

import structlog
from channels.layers import get_channel_layer
from django.conf import settings

from agui_host.backends import bell, epochs, metrics
from agui_host.backends.postgres import clock
from agui_host.backends.postgres.bridge import db, db_history
from agui_host.backends.postgres.shared_reads import SharedReads
from agui_host.protocol.ids import UNNAMED, Position, epoch_of
from events import announce, journal
from events.frames import Frames
from events.journal import Stretch
from events.subscriptions import Subscriptions

log = structlog.get_logger(__name__)

QUEUE_BYTES = 128 * 1024
QUEUE_FRAMES = 512
EXPECT_SECONDS = 0.05
"""How long a start waits for Valkey, so that its reader need not read its own events."""


class Wake:
    """An ``asyncio.Event`` for one waiter: without the deque that takes 600 bytes of each."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def is_set(self) -> bool:
        """Whether ``wait`` returns at once."""
        return self._is_set

    def set(self) -> None:
        """Let the waiter continue."""
        self._is_set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def clear(self) -> None:
        """Let the next wait wait."""
        self._is_set = False

    async def wait(self) -> None:
        """Return once it is set."""
        if not self._is_set:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    async def next(self, seconds: float) -> None:
        """Wait for the next notification, for so many seconds at most, and clear it."""
        # A timer and no timeout, which would be three objects.
        timer = asyncio.get_running_loop().call_later(seconds, self.set)
        try:
            await self.wait()
        finally:
            timer.cancel()
        self.clear()


class Reader:
    """One follower's mailbox, bounded: what does not fit is dropped and read from Postgres."""

    __slots__ = ("bytes", "epoch", "idle_at", "missed", "position", "queue", "since", "wake")

    def __init__(self, position: int) -> None:
        """``position``: the reader's; a ``Position`` also has an epoch."""
        self.position = int(position)
        self.epoch = epoch_of(position)
        self.since = epochs.latest  # Its journal can be lost with an epoch that ends later.
        self.queue: list[Frames] = []  # A deque takes 600 bytes before anything is in it.
        self.bytes = 0
        self.missed = True  # A reader starts by reading the journal.
        self.wake = Wake()
        self.idle_at = float("inf")

    def put(self, frames: Frames) -> None:
        """Deliver frames; if they do not fit, the reader reads the journal instead."""
        if self.bytes + frames.size > QUEUE_BYTES or len(self.queue) >= QUEUE_FRAMES:
            self.send_to_journal()
        else:
            self.queue.append(frames)
            self.bytes += frames.size
            self.wake.set()

    @property
    def has(self) -> Position:
        """The newest event that the reader has; of any epoch if that is not known."""
        return Position(self.position, self.epoch)

    def is_continued_by(self, frames: Frames) -> bool:
        """Whether these frames follow: its events are certainly of the same history."""
        is_next = frames.first == self.position + 1 and frames.payloads is not None
        return is_next and (not self.position or self.epoch == frames.epoch)

    def pop(self) -> Frames:
        """Take the oldest frames. Raises IndexError if there are none."""
        frames = self.queue.pop(0)
        self.bytes -= frames.size
        return frames

    def send_to_journal(self) -> None:
        """Drop the queue: this reader reads from Postgres next."""
        self.queue.clear()
        self.bytes = 0
        self.missed = True
        self.wake.set()


class Listening:
    """A Wake that topics ring: a class, since a generator of every open stream takes a kilobyte."""

    __slots__ = ("_hub", "_ring", "_topics")

    def __init__(self, hub: "Hub", topics: Collection[str]) -> None:
        self._hub, self._topics, self._ring = hub, topics, Wake()

    async def __aenter__(self) -> Wake:
        try:
            await self._hub.listen(self._ring, self._topics)
        except BaseException:
            self._hub.ignore(self._ring, self._topics)
            raise
        return self._ring

    async def __aexit__(self, *_: object) -> None:
        self._hub.ignore(self._ring, self._topics)


class Hub:
    """Readers by journal, one channel for all of them, and the tick."""

    def __init__(self) -> None:
        self.readers: dict[UUID, set[Reader]] = {}
        self._rings: dict[str, set[Wake]] = {}
        self._groups = Subscriptions()
        self._seen: dict[UUID, Position] = {}
        self._stretches: SharedReads[Stretch] = SharedReads()
        self._tasks: list[asyncio.Task[None]] = []
        self._answers: set[asyncio.Task[bool]] = set()
        self.counters: collections.Counter[str] = collections.Counter()

    async def join(self, journal_id: UUID, position: int) -> Reader:
        """Register a reader; returns once subscribed, or after a second without Valkey."""
        reader = self._registered(journal_id, position)
        try:
            await self._groups.join(announce.group(journal_id))
        except asyncio.CancelledError:
            self.leave(journal_id, reader)
            raise
        return reader

    async def expect(self, journal_id: UUID) -> Reader:
        """Register a reader of a journal that its caller makes next: there is nothing to read.

        The caller lets it ``leave``, whatever becomes of the journal. If Valkey does not answer at
        once, the reader reads the journal as any other.
        """
        reader = self._registered(journal_id, 0)
        joining = asyncio.ensure_future(self._groups.join(announce.group(journal_id)))
        try:
            await asyncio.wait({joining}, timeout=EXPECT_SECONDS)
        except asyncio.CancelledError:
            self.leave(journal_id, reader)
            raise
        reader.missed = not (joining.done() and joining.result())
        return reader

    def _registered(self, journal_id: UUID, position: int) -> Reader:
        self._start()
        reader = Reader(position)
        metrics.joins.inc()
        metrics.readers.inc()
        self.readers.setdefault(journal_id, set()).add(reader)
        return reader

    def leave(self, journal_id: UUID, reader: Reader) -> None:
        """Forget a reader, once; the tick ends the subscription when no reader is left."""
        readers = self.readers.get(journal_id, set())
        if reader not in readers:
            return
        metrics.readers.dec()
        readers.discard(reader)
        if not readers:
            del self.readers[journal_id]

    def has_readers(self, journal_id: UUID) -> bool:
        """Whether this process has readers of the journal."""
        return bool(self.readers.get(journal_id))

    def is_read_by(self, journal_id: UUID, reader: Reader) -> bool:
        """Whether this reader is one of the journal's."""
        return reader in self.readers.get(journal_id, ())

    async def stretch(self, journal_id: UUID, after: int) -> Stretch:
        """Read the next events; readers that wait for the same stretch share a query.

        It begins after they subscribed, or it would break the order of ``follow``.
        """
        read = functools.partial(db_history, journal.read_stretch, journal_id, after)
        return await self._stretches.get((journal_id, after, epoch_of(after)), read)

    def listening(self, topics: Collection[str]) -> "Listening":
        """An event set at a notification of one of ``topics``, from now on if Valkey is there."""
        return Listening(self, topics)

    async def listen(self, ring: Wake, topics: Collection[str]) -> None:
        """Let ``topics`` set it. Returns once subscribed, or after a second without Valkey."""
        self._start()
        for topic in topics:
            self._rings.setdefault(topic, set()).add(ring)
        for topic in topics:
            await self._groups.join(topic)

    def ignore(self, ring: Wake, topics: Collection[str]) -> None:
        """Undo ``listen``, even half of it."""
        for topic in topics:
            rings = self._rings[topic]
            rings.discard(ring)
            if not rings:
                del self._rings[topic]

    def deliver(self, message: dict[str, Any]) -> None:
        """Pass one message of the bell to the journal's readers, or to those of its topic."""
        if (topic := message.get("topic")) is not None:
            for ring in self._rings.get(topic, ()):
                ring.set()
            self._answer(topic)
            return
        readers = self.readers.get(UUID(bytes=message["journal"]))
        if readers:
            # During a deploy a worker of the older version may send no time.
            now = clock.seconds()
            metrics.deliveries.observe(max(0.0, now - message.get("at", now)))
            frames = Frames(
                message["first"], message["last"], message["payloads"], final=message["final"],
                epoch=message.get("epoch", epochs.FIRST),
            )  # fmt: skip
            for reader in readers:
                reader.put(frames)

    def _answer(self, topic: str) -> None:
        """Answer a question about a journal that has readers here (``announce.question``)."""
        journal_id = announce.journal_of(topic)
        if journal_id is None or not self.has_readers(journal_id):
            return
        answer = announce.audience(journal_id)
        task = asyncio.create_task(bell.ring([(answer, {"type": "topic", "topic": answer})]))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def check_once(self) -> None:
        """One tick: wake idle readers, find those left behind, repair subscriptions."""
        now = time.monotonic()
        for reader in [reader for readers in self.readers.values() for reader in readers]:
            if now >= reader.idle_at:
                reader.wake.set()
        if self.readers:
            # Before the heads are read: a reader may pass them in between.
            before = {r: r.has for readers in self.readers.values() for r in readers}
            heads = await db(journal.heads, list(self.readers))
            for journal_id, readers in self.readers.items():
                known = self._seen.get(journal_id, 0)
                for reader in readers:
                    head = heads.get(journal_id)
                    if reader in before and _is_lost(reader, before[reader], head):
                        reader.send_to_journal()  # The database lost events: the read detects it.
                    elif reader.position < known and not reader.queue and not reader.missed:
                        self.counters["nudged"] += 1
                        reader.send_to_journal()
            self._seen = heads
        await self._groups.settle({*map(announce.group, self.readers), *self._rings})

    async def close(self) -> None:
        """Stop listening (at the end of a test; a web process simply ends)."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            # A cancellation may be swallowed (see ``Subscriptions.join``), so cancel again.
            _, left = await asyncio.wait(self._tasks, timeout=1)
            self._tasks = list(left)

    def _start(self) -> None:
        """Start with the first reader, since ``ProtocolTypeRouter`` has no lifespan."""
        if not self._tasks:
            nobody = contextvars.Context()  # these serve all readers, not the first one's request
            self._tasks = [
                asyncio.create_task(
                    self._repeat(self._listen, 0.5), name="hub-listen", context=nobody
                ),
                asyncio.create_task(
                    self._repeat(self.check_once, settings.AGUI_HUB_TICK),
                    name="hub-tick",
                    context=nobody.copy(),
                ),
            ]

    async def _repeat(self, step: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            try:
                await step()
            except Exception as error:
                log.warning("hub.step_failed", step=step.__name__, error=repr(error))
            await asyncio.sleep(seconds)

    async def _listen(self) -> None:
        channel = await self._groups.channel()
        while True:
            self.deliver(await get_channel_layer().receive(channel))


def _is_lost(reader: Reader, has: Position, head: Position | None) -> bool:
    # Below the head only a read decides, which the next events or the next tick bring about.
    if head is None:
        return epochs.has_ended(has) or epochs.latest != reader.since
    return has > head or (has == head and has.epoch not in (UNNAMED, head.epoch))


@functools.cache
def _hub_of(loop: asyncio.AbstractEventLoop) -> Hub:
    return Hub()


def hub() -> Hub:
    """The hub of this process (one per event loop, since tests have many)."""
    return _hub_of(asyncio.get_running_loop())
