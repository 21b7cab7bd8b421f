"""The inboxes of the runs that this process executes, filled from the database.

One topic of the bell is for messages to all runs: a process that has a run then asks once for all
of its runs. It asks every second as well, since the bell may lose a notification, and a message can
be older than the run's claim.
"""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

import structlog

from agui_host.backends import bell
from agui_host.backends.postgres.bridge import db_read
from agui_host.protocol.encoding import Record
from agui_host.runtimes.context.inbox import Inbox, InboxMessage
from events.hub import Wake, hub
from events.writer.lease import Also, Lease
from runs.lifecycle.steering import messages

log = structlog.get_logger(__name__)
LOOK_EVERY = 1.0
"""Seconds between two looks without a notification."""


class Inboxes:
    """The open inboxes of one event loop, and the task that fills them while there are any."""

    def __init__(self) -> None:
        self._open: dict[UUID, Inbox] = {}
        self._filling: asyncio.Task[None] | None = None
        self._ring: Wake | None = None

    def open(self, run_id: UUID, inbox: Inbox) -> None:
        """Fill the inbox of a run from now on."""
        loop = asyncio.get_running_loop()
        inbox.look = partial(loop.call_soon_threadsafe, self._look_again, inbox)
        self._open[run_id] = inbox
        if self._filling is None or self._filling.done():
            # It serves the runs of all teams, not only this one.
            host = contextvars.Context()
            self._filling = loop.create_task(self._fill(), name="inboxes", context=host)

    def close(self, run_id: UUID) -> None:
        """The run has ended: its inbox gets no more messages."""
        inbox = self._open.pop(run_id, None)
        if inbox is not None:
            inbox.look = None
            inbox.close()

    async def stop(self) -> None:
        """Stop filling inboxes, at the end of the process."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait({self._filling})

    def _look_again(self, inbox: Inbox) -> None:
        # An agent that asks and finds nothing may have taken a whole batch.
        if self._ring is not None and inbox.is_hungry:
            inbox.is_hungry = False
            self._ring.set()

    async def _fill(self) -> None:
        async with hub().listening([messages.TOPIC]) as ring:
            self._ring = ring
            while self._open:
                try:
                    await self._fill_once()
                except Exception as error:
                    log.warning("inbox.not_read", error=repr(error))
                await ring.next(LOOK_EVERY)
        self._ring = None

    async def _fill_once(self) -> None:
        if waiting := [run_id for run_id, inbox in self._open.items() if inbox.waiting]:
            for run_id, seq in await db_read(messages.withdrawn, waiting):
                if (inbox := self._open.get(run_id)) is not None:
                    inbox.withdraw([seq])
        positions = {
            run_id: inbox.position
            for run_id, inbox in self._open.items()
            if inbox.waiting < messages.BATCH
        }
        if not positions:
            return
        fresh: dict[UUID, list[InboxMessage]] = {}
        for row in await db_read(messages.unread, positions):
            message = InboxMessage(row.id, row.content, row.seq, row.author)
            fresh.setdefault(row.run, []).append(message)
        for run_id, unread in fresh.items():
            if (filled := self._open.get(run_id)) is not None:
                filled.is_hungry = len(unread) == messages.BATCH
                filled.deliver(unread)


def noted(lease: Lease, inbox: Inbox, records: Sequence[Record]) -> list[Also]:
    """What notes, with the next ``records`` of a log, that its agent has read their messages."""
    run_id, first = lease.journal_id, lease.head + lease.in_flight + 1
    pending = [(message.id, message.seq) for message in (*inbox.read, *inbox.accepted)]
    places = messages.places_of(pending, records, first)
    if records and records[-1].type == "RUN_FINISHED":
        # Middleware can leave out the events of a message; its agent has read it nevertheless.
        last = first + len(records) - 1
        places |= {message.seq: last for message in inbox.read if message.seq not in places}
    if not places:
        return []
    for stack in (inbox.read, inbox.accepted):
        for message in [message for message in stack if message.seq in places]:
            stack.remove(message)  # in place: a thread of the agent may be adding one
    return [messages.note_seen(run_id, places, _ringing(run_id))]


_ringing_tasks: set[asyncio.Task[bool]] = set()


def _ringing(run_id: UUID) -> Callable[[], object]:
    """Tells the senders of messages, without delaying the thread that commits."""
    loop, topic = asyncio.get_running_loop(), messages.seen_topic(run_id)

    def ring() -> None:
        task = loop.create_task(bell.ring([(topic, {"type": "topic", "topic": topic})]))
        _ringing_tasks.add(task)
        task.add_done_callback(_ringing_tasks.discard)

    return partial(loop.call_soon_threadsafe, ring)


@functools.cache
def _inboxes_of(loop: asyncio.AbstractEventLoop) -> Inboxes:
    return Inboxes()


def inboxes() -> Inboxes:
    """The inboxes of this process (one per event loop, since tests have many)."""
    return _inboxes_of(asyncio.get_running_loop())
