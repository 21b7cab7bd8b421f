"""How a stream's view is made: small batches at once, large ones apart, charged to their reader."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar
from uuid import UUID

from agui_host.backends import apart, work
from agui_host.security.requester import ADDRESS, network_of
from agui_host.teams.authentication import Principal
from events.frames import Frames

T = TypeVar("T")


def payer_of(principal: Principal) -> UUID | str:
    """The payer for a reader: its team, or the address of a link's visitor."""
    if principal.kind != "link":
        return principal.team.pk
    return f"link:{principal.name}:{network_of(ADDRESS.get())}"


class Viewing:
    """Makes the views of one stream. ``log``: a lock of all readers that share a view's state."""

    __slots__ = ("_log", "_payer")

    def __init__(self, payer: UUID | str, log: asyncio.Lock | None = None) -> None:
        self._payer, self._log = payer, log

    async def show(self, view: Callable[[Frames], bytes], batch: Frames) -> bytes:
        """The reader's view of a batch."""
        log: AbstractAsyncContextManager[object] = self._log or nullcontext()
        async with log:
            if batch.size <= apart.SMALL:
                return view(batch)
            return await self.make(batch.size, lambda: view(batch))

    async def make(self, size: int, call: Callable[[], T]) -> T:
        """The result of ``call`` for ``size`` bytes, in a thread if they are many."""
        if size <= apart.SMALL:
            return call()

        def charged() -> T:
            work.charge(self._payer, "view", size // work.BYTES)
            return call()

        return await apart.in_turn(self._payer, charged)
