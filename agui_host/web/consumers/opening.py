"""Opening a stream: enforces the limits of open streams, for SSE and sockets alike."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from agui_host.backends.postgres.bridge import db_read
from agui_host.backends.stream_limit import LEASE, seats
from agui_host.security.requester import ADDRESS, network_of
from agui_host.teams import limits
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import LimitReached


class Counted(NamedTuple):
    """Whose open streams are counted, under which limit, and how many are allowed."""

    owner: UUID | str
    limit: str
    most: int

    def require(self, free: bool) -> None:
        """Raises LimitReached."""
        if not free:
            raise LimitReached.of(self.limit, self.most, after=LEASE / 3)


@asynccontextmanager
async def opened(principal: Principal) -> AsyncIterator[None]:
    """Take one of the open streams. Raises LimitReached before anything else is done."""
    first, *more = await _counted(principal)
    async with seats().taken(first.owner, first.most) as free:
        first.require(free)
        if not more:  # An exit stack for one would take a kilobyte of each stream.
            yield
            return
        async with AsyncExitStack() as stack:
            for each in more:
                each.require(await stack.enter_async_context(seats().taken(each.owner, each.most)))
            yield


async def _counted(principal: Principal) -> list[Counted]:
    """A link's readers are strangers: they count apart from the team, or could lock it out."""
    if principal.kind != "link":
        own = limits.at_hand(principal.team)
        if own is None:
            own = await db_read(limits.limits_of, principal.team)
        of_team = Counted(principal.team.pk, "open_streams", own.open_streams)
        if principal.end_user is None:
            return [of_team]
        name, most = principal.actor_id, settings.AGUI_END_USER_STREAMS
        return [Counted(name, "end_user_streams", most), of_team]
    link = f"link:{principal.name}"
    here = f"{link}:{network_of(ADDRESS.get())}"
    return [
        Counted(here, "link_streams_per_address", settings.AGUI_LINK_STREAMS_PER_ADDRESS),
        Counted(link, "link_streams", settings.AGUI_LINK_STREAMS),
    ]
