"""Opening a stream: where a team's limit of open streams is enforced, for SSE and sockets alike."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agui_project.bridge import db_read
from agui_project.seats import LEASE, seats
from teams.authentication import Principal
from teams.limits import LimitReached, limits_of


@asynccontextmanager
async def opened(principal: Principal) -> AsyncIterator[None]:
    """Hold one of the team's open streams. Raises LimitReached, before anything else is done."""
    most = (await db_read(limits_of, principal.team)).open_streams
    async with seats().taken(principal.team.pk, most) as free:
        if not free:
            raise LimitReached.of("open_streams", most, after=LEASE / 3)
        yield
