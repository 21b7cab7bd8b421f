"""The one body of every stream of runs: follow, send, notice leavers, re-check access."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from backends.epochs import Reset
from backends.postgres.bridge import db_read
from events import journal, recheck
from events.follow import follow
from events.frames import Frames
from events.hub import Reader
from protocol.views.alone import Alone
from protocol.views.legacy import Older, Version
from runs.access import sight
from runs.access.sight import Sight
from runs.lifecycle.joining import Cut
from runs.models import Run
from teams import revocation
from teams.authentication import Principal
from web import sse
from web.asgi_http import Request
from web.scope import Send
from web.shares.openings import Opening
from web.shares.viewing import Viewing, payer_of


class Logs(NamedTuple):
    """The runs that a stream sends, one after another, and the team that owns them.

    ``doubtful`` are those that the reader may see alone, without their thread. Ids only: rows must
    not live as long as the stream.
    """

    runs: Sequence[UUID]
    owner: UUID
    doubtful: Sequence[UUID]

    @classmethod
    def of(cls, principal: Principal, *runs: Run) -> "Logs":
        """The logs of these runs, which are all of one team, for this reader."""
        doubtful = [run.pk for run in runs if not sight.is_whole(principal, run)]
        return cls([run.pk for run in runs], runs[0].team_id, doubtful)


def log_of(run_id: UUID) -> sse.Header:
    """The header that says whose log an answer is."""
    return (b"content-location", f"/api/v1/runs/{run_id}/events".encode())


async def stream_run(
    request: Request,
    send: Send,
    principal: Principal,
    logs: Logs,
    *,
    cut: Cut | None = None,
    reads: Version | None = None,
    raw: bool = True,
    view: sse.View | None = None,
    headers: Sequence[sse.Header] | None = None,
    stall: float | None = None,
    wire: sse.Wire = sse.EVENTS,
    reader: Reader | None = None,
    turn: asyncio.Lock | None = None,
    whole: bool | None = None,
) -> None:
    """Send runs one after another, each up to its stored end.

    Ends early if the reader leaves or loses its right to read. Of the first run the reader gets
    what ``cut`` says, else all of it. A ``view`` decides what the reader sees of each batch;
    without one, ``reads`` is the version of a reader of AG-UI 0.x, and without ``raw`` RAW and
    ``rawEvent`` are left out. ``stall``: seconds a reader may accept nothing. ``wire``: how the
    stream is framed, to which ``view`` must fit. ``reader``: one that has expected the first run.
    ``turn``: a lock of all readers whose views share a state. ``whole``: whether ``view`` shows
    more than the run alone, if it decides that.
    """
    first, sights = logs.runs[0], dict[UUID, Sight]()
    if logs.doubtful:
        sights = await db_read(sight.of_each, principal, logs.doubtful, logs.owner)
    position, opening = (cut.position, cut.opening) if cut else (0, b"")
    del cut  # Nothing of the opening must live as long as the stream.
    viewing = Viewing(payer_of(principal), turn)
    if view is None and reads is not None:
        view = older = Older(reads, raw=raw)
        if position and not opening:
            await db_read(_remind, older, first, position)
        opening = await viewing.make(len(opening), partial(older.opening, opening))
    if headers is None:
        headers = [log_of(first)]
    with closing(Opening(logs.owner, opening)) as pieces:
        del opening
        await sse.begin(send, headers, wire)
        request.set_apart()
        each = _follow_each(logs.runs, position, reader, sights, viewing)
        async with aclosing(each) as frames:
            sending = sse.stream(
                send,
                frames,
                opening=pieces,
                stall=stall or settings.AGUI_STALL_TIMEOUT,
                view=view or (sse.whole if raw else sse.rawless),
                show=viewing.show,
                wire=wire,
                ends_with_log=len(logs.runs) == 1,
            )
            try:
                refused = await while_allowed(
                    sending,
                    request,
                    principal,
                    first,
                    logs.owner,
                    leaving="http.disconnect",
                    whole=first not in sights if whole is None else whole,
                )
            except Reset as error:
                await sse.reset(send, error.details, wire)
                return
    if refused:
        await sse.refuse(send, wire)


async def send_file(
    request: Request,
    send: Send,
    principal: Principal,
    run: Run,
    headers: Mapping[str, str],
    pieces: AsyncIterator[bytes],
    *,
    whole: bool | None = None,
) -> None:
    """Answer 200 with these pieces, each made when the one before is sent: size costs no memory.

    A reader who loses access gets an answer without an end: half a file is not a file.
    """
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})

    async def sending() -> None:
        async for piece in pieces:
            await sse.piece(send, piece, settings.AGUI_STALL_TIMEOUT)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    await while_allowed(
        sending(), request, principal, run.pk, run.team_id, leaving="http.disconnect", whole=whole
    )


def _remind(older: Older, run_id: UUID, position: int) -> None:
    # Tell the translation what was open at the cursor of a returning reader.
    for payload in journal.of_types(run_id, older.remembers, position):
        older.events(json.loads(payload))


async def while_allowed(
    sending: Awaitable[None],
    request: Request,
    principal: Principal,
    run_id: UUID,
    owner: UUID,
    *,
    leaving: str,
    answer: Callable[[], Awaitable[None]] | None = None,
    whole: bool | None = None,
) -> bool:
    """Run ``sending`` until it ends, the reader leaves, or loses access to the run (True).

    ``answer`` is called for each message that is not ``leaving``. ``whole``: whether more than the
    run alone is sent, which also ends with the right to it; None if ``sending`` decides it, later.

    Two teams can take that access away: the principal's own, and the run's ``owner``. From here on
    the request holds no slot of the gate.
    """
    request.release()
    if whole is None:
        whole = bool(await db_read(sight.seen_whole, principal, [run_id]))
    return await sse.beside(
        sending,
        sse.until_disconnect(request.receive, leaving, answer=answer),
        recheck.until_refused(
            {revocation.group(team) for team in (principal.team.pk, owner)},
            partial(db_read, sight.remains, principal, run_id, whole=whole),
            settings.AGUI_SSE_HEARTBEAT,
        ),
    )


async def _follow_each(
    run_ids: Sequence[UUID],
    after: int,
    reader: Reader | None,
    sights: Mapping[UUID, Sight],
    viewing: Viewing,
) -> AsyncGenerator[Frames | None, None]:
    idle = settings.AGUI_SSE_HEARTBEAT
    for run_id in run_ids:
        frames = follow(run_id, after, idle=idle, reader=reader)
        if run_id in sights:
            alone = await db_read(sights[run_id].view, after)
            frames = _alone(frames, alone, viewing)
        async with aclosing(frames):
            async for batch in frames:
                yield batch
                del batch  # A stalled reader must not keep two pages alive.
        after, reader = 0, None


async def followed(
    principal: Principal, logs: Logs, after: int, *, idle: float
) -> AsyncGenerator[Frames | None, None]:
    """``follow`` of the first log, as the principal sees it."""
    run_id = logs.runs[0]
    frames = follow(run_id, after, idle=idle)
    if logs.doubtful:
        sights = await db_read(sight.of_each, principal, logs.doubtful, logs.owner)
        if run_id in sights:
            alone = await db_read(sights[run_id].view, after)
            return _alone(frames, alone, Viewing(payer_of(principal)))
    return frames


async def _alone(
    frames: AsyncGenerator[Frames | None, None], alone: Alone, viewing: Viewing
) -> AsyncGenerator[Frames | None, None]:
    async with aclosing(frames):
        async for batch in frames:
            yield batch and await viewing.make(batch.size, partial(batch.through, alone.see))
            del batch
