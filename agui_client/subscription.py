"""A subscription: the frames of a run, of a thread or of the team's feed, in order, each once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from agui_client.errors import AGUIError, OnReset, Refused, Reset, reset_or
from agui_client.reading import Event

REFUSED = {
    "purged": (410, "purged", "The events after this position were erased."),
    "revoked": (403, "forbidden", "You can no longer read this."),
}
"""The errors that become of the host's reasons to end a subscription early."""
PLACE = ("run", "seq", "cursor")


class Opener(Protocol):
    """The part of a connection that a subscription needs."""

    async def subscribe(self, subscription: "Subscription") -> None:
        """Deliver its frames from its position on."""

    def acknowledge(self, subscription: "Subscription", position: Event) -> None:
        """Tell the host that everything up to here was taken."""

    def leave(self, subscription: "Subscription") -> None:
        """No more frames of this one."""


class Subscription:
    """Bounded by its ``window``: the host sends no more than that without an acknowledgement."""

    def __init__(
        self,
        connection: Opener,
        method: str,
        target: Event,
        after: Any,
        *,
        window: int,
        place: Callable[[Event], Any],
        on_reset: OnReset,
        is_from_host: bool = False,
    ) -> None:
        """``after`` is where to begin, and ``place`` makes the same of a frame.

        ``is_from_host``: ``after`` is a place that this host gave, so it can only be lost there.
        ``on_reset`` is called before all is read again from its start; it can raise instead.
        """
        self.method = method
        self.name: str | None = None
        self._connection = connection
        self._target = target
        self._after = after
        self._window = window
        self._place = place
        self._on_reset = on_reset
        self._is_from_host = is_from_host
        self._frames: asyncio.Queue[Event | str | AGUIError] = asyncio.Queue()
        self._taken = 0

    def params(self) -> Event:
        """The parameters of the request that continues here."""
        after = {} if self._after is None else {"after": self._after}
        return {**self._target, **after, "window": self._window}

    async def read(self) -> AsyncGenerator[Event, None]:
        """The frames until the end. Raises Refused, Reset, Untrusted, ConnectionLost."""
        try:
            await self._open()
            while (frame := await self._frames.get()) != "finished":
                if isinstance(frame, Reset):
                    self._restart(frame)
                elif isinstance(frame, AGUIError):
                    raise frame
                if isinstance(frame, str | Reset):  # A str: it waited for acknowledgements.
                    await self._open()
                    continue
                self._after, self._is_from_host = self._place(frame), True
                self._acknowledge(frame)
                yield frame
        finally:
            self._connection.leave(self)

    async def _open(self) -> None:
        try:
            await self._connection.subscribe(self)
        except Refused as refused:
            error = self._meant(refused)
            if not isinstance(error, Reset):
                raise
            self._restart(error)
            await self._connection.subscribe(self)

    def _meant(self, error: AGUIError) -> AGUIError:
        return reset_or(error) if self._is_from_host and isinstance(error, Refused) else error

    def _restart(self, reset: Reset) -> None:
        self._after, self._is_from_host = 0, False
        reset.log = dict(self._target)
        self._on_reset(reset)

    def _acknowledge(self, frame: Event) -> None:
        self._taken += 1
        if self._taken * 4 >= self._window:
            self._taken = 0
            self._connection.acknowledge(self, {key: frame[key] for key in PLACE if key in frame})

    # --- called by the connection

    def begin(self, result: Event) -> None:
        """The host has opened it."""
        self.name = result["subscription"]
        self._taken = 0
        if self._after is None:
            self._after, self._is_from_host = result.get("cursor"), True

    def rewind(self) -> None:
        """The socket broke: frames that were not taken come again."""
        self.name = None
        while not self._frames.empty():
            self._frames.get_nowait()

    def put(self, frame: Event) -> None:
        self._frames.put_nowait(frame)

    def end(self, note: Event) -> None:
        self.name, reason = None, note["reason"]
        if reason == "reset":
            self._frames.put_nowait(Reset.of(note))
        else:
            self._frames.put_nowait(Refused(*REFUSED[reason]) if reason in REFUSED else reason)

    def fail(self, error: AGUIError) -> None:
        self.name = None
        self._frames.put_nowait(self._meant(error))
