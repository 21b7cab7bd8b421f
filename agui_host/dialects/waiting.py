"""Waits for the end of runs whose answer is sent whole, and reads their logs a page at a time."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial
from uuid import UUID

from agui_host.backends import apart, work
from agui_host.backends.postgres.bridge import db_read
from agui_host.dialects.teller import Teller
from agui_host.errors import Unauthenticated
from agui_host.protocol.wire.fold import Dialect
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request
from agui_host.web.consumers.stream import while_allowed
from events.follow import follow
from events.frames import Frames
from events.hub import hub
from runs.access import access, sight
from runs.access.sight import Sight
from runs.lifecycle.logs import corrections
from runs.models import Run

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
    """The run as it is now, if the caller can still read it."""
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
    single: Sight | None = None
    if not sight.is_whole(principal, run):
        single = await db_read(sight.of, principal, run)
    alone, begins = (None, None) if single is None else (single.view(), single.begins)
    is_known = Run.journal.is_cached(run) and run.journal.closed_at is not None
    head = run.journal.head if is_known else None
    corrected = await corrections.of_apart(run.pk, run.team_id, head, begins)

    def fed(frames: Frames) -> None:
        frames = frames if alone is None else frames.through(alone.see)
        teller.pieces(frames if corrected is None else frames.through(corrected.see))

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
