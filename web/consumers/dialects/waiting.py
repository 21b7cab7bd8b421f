"""Waits for the end of runs whose answer is sent whole, and reads their logs a page at a time."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial
from uuid import UUID

from agui_project.errors import Unauthenticated
from backends import apart, work
from backends.postgres.bridge import db_read
from events.follow import follow
from events.frames import Frames
from events.hub import hub
from protocol.dialects.fold import Dialect
from runs.access import access, sight
from runs.models import Run
from teams import authentication
from teams.authentication import Principal
from web.asgi_http import Request
from web.consumers.dialects.teller import Teller
from web.consumers.stream import while_allowed

CANCELLED_WITHIN = 10.0
"""How many seconds the answer to a cancel waits for the run's end."""


async def until_end(request: Request, principal: Principal, run: Run) -> None:
    """Wait for the end of a run; raises if the caller loses access."""
    refused = await while_allowed(
        _end(run.pk), request, principal, run.pk, run.team_id, leaving="http.disconnect"
    )
    if refused:
        raise Unauthenticated("Your credential was revoked while you were waiting.")


async def until_cancelled(request: Request, run: Run) -> None:
    """Wait for the end of a cancelled run, but not for ever."""
    request.release()
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCELLED_WITHIN):
            await _end(run.pk)


async def reread(principal: Principal, run_id: UUID) -> Run:
    """The run as it is now, if the caller may still read it."""
    return await db_read(_reread, principal, run_id)


def _reread(principal: Principal, run_id: UUID) -> Run:
    now = authentication.refreshed(principal)
    if now is None:
        raise Unauthenticated("Your credential was revoked while you were waiting.")
    return access.find(now, run_id)


async def feed(fold: Dialect, principal: Principal, run: Run) -> int:
    """Feed a fold with the events of a log that the principal sees; the number of the last.

    Stretch by stretch: between two, others get the event loop and the database.
    """
    position, teller = 0, Teller(fold, None)
    alone = None
    if not sight.is_whole(principal, run):
        alone = await db_read(sight.view, principal, run)

    def fed(frames: Frames) -> None:
        teller.pieces(frames if alone is None else frames.through(alone.see))

    while (stretch := await hub().stretch(run.pk, position)).payloads:
        frames = Frames.of_stretch(stretch)
        if frames.size <= apart.SMALL:
            fed(frames)
        else:
            work.charge(run.team_id, "fold", frames.size // work.BYTES)
            await apart.to_its_end(run.team_id, partial(fed, frames))
        position = frames.last
    return position


async def _end(run_id: UUID) -> None:
    async with aclosing(follow(run_id)) as frames:
        async for _ in frames:
            pass
