"""The places of uploads: teams take turns, and a team with many leaves room for others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID
from weakref import WeakKeyDictionary

from agui_host.backends.places import Places
from agui_host.errors import Overloaded

AT_ONCE, OF_A_TEAM = 64, 8
"""Uploads of a process, and of one team in it; each holds at most two blocks or parts."""
FIRSTS = 64
"""Uploads beyond ``AT_ONCE`` that are their team's only one: other teams' cannot keep it out."""
WAITING = 8
"""Uploads of one team that wait for their turn; their bytes are not read."""
PATIENCE = 10.0
"""Seconds that an upload waits for its turn."""


class UploadPlaces(Places):
    """``AT_ONCE`` places. A team gets another one only while more are free than it holds."""

    def __init__(self) -> None:
        super().__init__(AT_ONCE)

    def has_room(self, team: str) -> bool:
        """Whether the team can begin an upload now."""
        own = self.taken_by(team)
        return self.free > (own or -FIRSTS) and own < OF_A_TEAM


_of: WeakKeyDictionary[asyncio.AbstractEventLoop, UploadPlaces] = WeakKeyDictionary()


def places() -> UploadPlaces:
    """The places of this process."""
    return _of.setdefault(asyncio.get_running_loop(), UploadPlaces())


@asynccontextmanager
async def taken(team: UUID) -> AsyncIterator[None]:
    """Hold a place, once it is the team's turn. Raises Overloaded after ``PATIENCE``."""
    all_places, name = places(), str(team)
    async with AsyncExitStack() as stack:
        try:
            if all_places.waiting(name) >= WAITING:
                raise TimeoutError
            async with asyncio.timeout(PATIENCE):
                await stack.enter_async_context(all_places.taken(name))
        except TimeoutError:
            raise Overloaded("Too many files are being uploaded; try again shortly.") from None
        yield
