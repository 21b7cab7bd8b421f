"""GET /api/v1/runs/{id}/events as server-sent events: replay from a cursor, then live."""

import asyncio
import functools
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from agui_host.backends import metrics
from agui_host.backends.postgres import scope
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.backends.postgres.servers import replica
from agui_host.backends.postgres.shared_reads import SharedReads
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.callers import of_team
from agui_host.web.consumers import arriving
from agui_host.web.consumers.arriving import Arrival
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, log_of, stream_run
from agui_host.web.scope import Send
from events import journal
from events.frames import Frames
from runs.access import access, cursors, sight
from runs.lifecycle.logs import joining
from runs.lifecycle.logs.joining import Cut
from runs.models import Run


class Target(NamedTuple):
    """A run, and the ``rest`` of its log after the cursor if that is over and fits one page."""

    run: Run
    rest: Frames | None


@endpoint
async def events(request: Request, send: Send) -> None:
    """Stream a run: its log from the cursor; without one a live run as a stock client joins it.

    204 for a cursor at the end of an ended run, which stops an EventSource.
    """
    principal = await arriving.reader(request, again="last-event-id" in request.headers)
    target = await _find(request, principal)
    arrival = Arrival.at(request, principal, target.run)
    if arrival.has_all:
        await answer(send, 204)
        return
    raw, reads = cursors.raw(request.query), cursors.protocol(request.query)
    if target.rest is not None and reads is None:
        await _answer_rest(send, target.run.pk, target.rest, raw=raw)
        return
    async with opened(principal):
        cuts, logs = [await _cut(request, arrival)], Logs.of(principal, target.run)
        del target, arrival  # Rows and cuts must not live as long as the stream.
        await stream_run(request, send, principal, logs, cut=cuts.pop(), reads=reads, raw=raw)


async def _answer_rest(send: Send, run_id: UUID, rest: Frames, *, raw: bool) -> None:
    # Nothing stays open, so it takes no place among the open streams.
    metrics.joins.inc()
    body = rest.sse if raw else rest.rawless_sse
    await sse.whole_answer(send, body, [log_of(run_id)], stall=settings.AGUI_STALL_TIMEOUT)


async def _cut(request: Request, arrival: Arrival) -> Cut:
    principal, run, after, returns = arrival
    if run.journal.closed_at is not None or returns:
        return Cut(after, b"")
    async with request.readmitted(of_team(principal.team.pk), "join"):
        return await db_read(_join, principal, run) or Cut(after, b"")


async def _find(request: Request, principal: Principal) -> Target:
    """The run, in one read for all readers of one credential who come at once."""
    cursor = (request.headers.get("last-event-id"), request.query.get("after"))
    key, finds = (principal, request.kwargs["run_id"], cursor), _finds(asyncio.get_running_loop())
    if finds.is_waiting(key):
        request.release()  # It waits for another's read.
    target = await finds.get(key, functools.partial(db, _read, request, principal))
    scope.reach(target.run.team_id)
    return target


@functools.cache
def _finds(loop: asyncio.AbstractEventLoop) -> SharedReads[Target]:
    return SharedReads()


def _read(request: Request, principal: Principal) -> Target:
    run = access.find(principal, request.kwargs["run_id"])
    if run.journal.closed_at is None or sight.of(principal, run) is not None:
        return Target(run, None)
    after = Arrival.at(request, principal, run).after
    rest = replica.read(lambda: journal.read_rest(run.journal, after))
    return Target(run, Frames.of_stretch(rest) if rest else None)


def _join(principal: Principal, run: Run) -> Cut | None:
    # The prelude covers the whole thread, so a reader who sees only this run gets its log.
    return joining.live(run) if sight.of(principal, run) is None else Cut(0, b"")
