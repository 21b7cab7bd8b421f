"""Notifies the sender of a message when the run's agent has read it, or never will."""

from collections.abc import Callable
from uuid import UUID

from agui_host.backends.postgres.bridge import db_read
from agui_host.teams.authentication import Principal
from agui_host.web.host_socket import frames
from agui_host.web.host_socket.outgoing import Outgoing
from events.hub import Wake, hub
from runs.access import access
from runs.lifecycle.steering import messages
from runs.models import RunMessage

MOST = 1_000
"""Messages of one socket that it waits for; ``GET /api/v1/runs/{id}/messages`` shows any."""
LOOK_EVERY = 5.0
"""Seconds between two looks without a notification, which may get lost."""


class Receipts:
    """The messages that one socket has sent, as long as they are unread."""

    def __init__(self, outgoing: Outgoing, standing: Callable[[], Principal]) -> None:
        self._outgoing = outgoing
        self._standing = standing
        self._waiting: dict[UUID, set[int]] = {}
        self._ring = Wake()

    def add(self, run: UUID, seq: int) -> None:
        """Wait for this message; ``watch`` tells its fate."""
        if sum(map(len, self._waiting.values())) < MOST:
            self._waiting.setdefault(run, set()).add(seq)
            self._ring.set()

    async def watch(self) -> None:
        """Send the notifications, for as long as the task lives."""
        while True:
            await self._ring.wait()
            self._ring.clear()
            if runs := set(self._waiting):
                await self._listen(runs)

    async def _listen(self, runs: set[UUID]) -> None:
        """Until other runs have messages, or none has."""
        before = self._ring
        async with hub().listening([messages.seen_topic(run) for run in runs]) as ring:
            self._ring = ring
            try:
                while self._waiting and self._waiting.keys() <= runs:
                    # The first look is for messages that were read before this socket listened.
                    await self._look()
                    if self._waiting:
                        await ring.next(LOOK_EVERY)
            finally:
                self._ring = before
        if self._waiting:
            self._ring.set()

    async def _look(self) -> None:
        for row in await db_read(self._settled):
            self._waiting[row.run_id].discard(row.seq)
            if not self._waiting[row.run_id]:
                del self._waiting[row.run_id]
            notification = frames.notification(
                "said", run=row.run_id, id=row.message_id, seq=row.seq, seen_seq=row.seen_seq
            )
            await self._outgoing.answer(notification)

    def _settled(self) -> list[RunMessage]:
        readable = access.readable(self._standing(), set(self._waiting))
        return messages.settled(
            {run: set(seqs) for run, seqs in self._waiting.items() if run in readable}
        )
