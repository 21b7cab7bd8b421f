"""Credit: how many more events a subscriber takes before it has acknowledged earlier ones."""

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from agui_host.protocol.errors import Invalid


class Credit:
    """A window, and how many of the events that were sent are not yet acknowledged."""

    __slots__ = ("_room", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self._room = asyncio.Event()
        self._room.set()

    @property
    def outstanding(self) -> int:
        """How many events the client has not acknowledged."""
        raise NotImplementedError

    @property
    def left(self) -> int:
        """How many events can be sent now."""
        return self.window - self.outstanding

    def acknowledge(self, run: UUID | None, seq: int) -> None:
        """The subscriber has everything up to this event. Raises Invalid for one not yet sent."""
        raise NotImplementedError

    async def wait(self, seconds: float) -> bool:
        """Whether there is room for another event within this time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._room.wait()
        return self.left > 0

    def _changed(self) -> None:
        if self.left > 0:
            self._room.set()
        else:
            self._room.clear()


class RunCredit(Credit):
    """Counts the events of a subscription, over all of its runs, in the order in which they go out.

    The event ``seq`` of a run is number ``offset + seq`` of the subscription, so that a run needs
    one number however many of its events are under way.
    """

    __slots__ = ("_acknowledged", "_offsets", "_sent", "_sent_of")

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self._sent = 0
        self._acknowledged = 0
        self._offsets: dict[UUID, int] = {}
        self._sent_of: dict[UUID, int] = {}

    @property
    def outstanding(self) -> int:
        """How many events of all runs the client has not acknowledged."""
        return self._sent - self._acknowledged

    def begin(self, run: UUID, after: int) -> None:
        """The next events are those of ``run`` after this position."""
        self._offsets[run] = self._sent - after
        self._sent_of[run] = after
        self._forget()

    def spend(self, run: UUID, events: int) -> None:
        """Note that events of a run were sent."""
        self._sent += events
        self._sent_of[run] += events
        self._changed()

    def acknowledge(self, run: UUID | None, seq: int) -> None:
        """Without ``run`` it is the oldest of the runs that are not yet fully acknowledged."""
        if run is not None and run not in self._offsets:
            return  # acknowledged whole, before
        candidates = self._offsets if run is None else (run,)
        for each in candidates:
            if seq <= self._sent_of[each]:
                self._raise(self._offsets[each] + seq)
                return
        raise _too_early(max(self._sent_of.values(), default=0))

    def _raise(self, number: int) -> None:
        self._acknowledged = max(self._acknowledged, number)
        self._forget()
        self._changed()

    def _forget(self) -> None:
        # All but the newest run, whose next events can come, once they are acknowledged whole.
        *earlier, _ = self._offsets
        for run in earlier:
            if self._offsets[run] + self._sent_of[run] <= self._acknowledged:
                del self._offsets[run], self._sent_of[run]


class FeedCredit(Credit):
    """Counts entries by their cursors, between which there are gaps."""

    __slots__ = ("_newest", "_open")

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self._newest = 0
        self._open: deque[int] = deque()

    @property
    def outstanding(self) -> int:
        """How many changes the client has not acknowledged."""
        return len(self._open)

    def spend(self, cursors: Iterable[int]) -> None:
        """Note that changes with these cursors were sent."""
        self._open.extend(cursors)
        self._newest = self._open[-1]
        self._changed()

    def acknowledge(self, run: UUID | None, seq: int) -> None:
        """Take back the credit of all up to ``seq``. Raises Invalid if that was not sent."""
        if seq > self._newest:
            raise _too_early(self._newest)
        while self._open and self._open[0] <= seq:
            self._open.popleft()
        self._changed()


def _too_early(newest: int) -> Invalid:
    return Invalid("This event has not been sent yet.", details={"path": "seq", "sent": newest})
