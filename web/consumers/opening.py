"""Opening a stream: enforces the limits of open streams, for SSE and sockets alike."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from backends.postgres.bridge import db_read
from backends.stream_limit import LEASE, seats
from security.requester import ADDRESS
from teams.authentication import Principal
from teams.limits import LimitReached, limits_of
from web.request_id import network_of


class Counted(NamedTuple):
    """Whose open streams are counted, under which limit, and how many are allowed."""

    owner: UUID | str
    limit: str
    most: int


@asynccontextmanager
async def opened(principal: Principal) -> AsyncIterator[None]:
    """Take one of the open streams. Raises LimitReached before anything else is done."""
    async with AsyncExitStack() as stack:
        for owner, limit, most in await _counted(principal):
            if not await stack.enter_async_context(seats().taken(owner, most)):
                raise LimitReached.of(limit, most, after=LEASE / 3)
        yield


async def _counted(principal: Principal) -> list[Counted]:
    """A link's readers are strangers: they count apart from the team, or could lock it out."""
    if principal.kind != "link":
        most = (await db_read(limits_of, principal.team)).open_streams
        return [Counted(principal.team.pk, "open_streams", most)]
    link = f"link:{principal.name}"
    here = f"{link}:{network_of(ADDRESS.get())}"
    return [
        Counted(here, "link_streams_per_address", settings.AGUI_LINK_STREAMS_PER_ADDRESS),
        Counted(link, "link_streams", settings.AGUI_LINK_STREAMS),
    ]
