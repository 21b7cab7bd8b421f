"""The one body of every stream of runs: follow, send, notice leavers, re-check access."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db_read
from agui_host.protocol import patient_json
from agui_host.protocol.views.legacy import Older, Version
from agui_host.teams import revocation
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request
from agui_host.web.scope import Send
from agui_host.web.shares.openings import Opening
from agui_host.web.shares.viewing import Viewing, payer_of
from events import journal, recheck
from events.follow import follow
from events.frames import Frames
from events.hub import Reader
from runs.access import cursors, sight
from runs.access.sight import Sight
from runs.lifecycle.logs import corrections
from runs.lifecycle.logs.joining import Cut
from runs.models import Run


class Logs(NamedTuple):
    """The runs that a stream sends, one after another, and the team that owns them.

    ``doubtful`` are runs that the reader can possibly see only alone, without their thread. Ids
    only: rows must not live as long as the stream.
    """

    runs: Sequence[UUID]
    owner: UUID
    doubtful: Sequence[UUID]
    head: int | None = None
    """The newest event of the first log, if its row is known."""

    @classmethod
    def of(cls, principal: Principal, *runs: Run) -> "Logs":
        """The logs of these runs, which are all of one team, for this reader."""
        doubtful = [run.pk for run in runs if not sight.is_whole(principal, run)]
        head = runs[0].journal.head if Run.journal.is_cached(runs[0]) else None
        return cls([run.pk for run in runs], runs[0].team_id, doubtful, head)


FOR_HOSTS = [(b"agui-steering", b"messages"), (b"agui-recovery", b"continue")]
"""Where another run host sends messages to the run, relative to the address of the log, and that
it can ask for the run again."""


def log_of(run_id: UUID) -> sse.Header:
    """The header with the address of an answer's log."""
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
    corrected: bool = False,
) -> None:
    """Send runs one after another, each up to its stored end.

    Ends early if the reader leaves or loses its right to read. Of the first run the reader gets the
    frames of ``cut``, else all of it. A ``view`` turns each batch into the reader's bytes; without
    one, ``reads`` is the version of a reader of AG-UI 0.x, and without ``raw`` RAW and ``rawEvent``
    are left out. ``stall``: seconds in which a reader can accept nothing. ``wire``: how the stream
    is framed, to which ``view`` must fit. ``reader``: a reader that has expected the first run.
    ``turn``: a lock of all readers whose views share a state. ``whole``: whether ``view`` shows
    more than the run alone, if it decides that. ``corrected``: as the newest snapshots of the logs
    correct them, for a ``view`` that adds up their events from the first.
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
        if opening:
            opening = await viewing.make(len(opening), partial(older.opening, opening))
    if headers is None:
        headers = [log_of(first), *FOR_HOSTS]
    with closing(Opening(logs.owner, opening)) as pieces:
        del opening
        await sse.begin(send, headers, wire)
        request.set_apart()
        each = _follow_each(logs, position, reader, sights, viewing, corrected)
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
                await sse.reset(send, error, wire)
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
    # Give the translation the parts that were open at the cursor of a returning reader.
    for payload in journal.of_types(run_id, older.remembers, position):
        older.events(patient_json.loads(payload))


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

    Raises Reset if the run itself is lost.

    ``answer`` is called for each message that is not ``leaving``. ``whole``: whether more than the
    run alone is sent, which also ends with the right to it; None if ``sending`` decides it, later.

    Two teams can take that access away: the principal's own, and the run's ``owner``. From here on
    the request holds no slot of the gate.
    """
    request.release()
    if whole is None:
        whole = bool(await db_read(sight.seen_whole, principal, [run_id]))
    refused = await sse.beside(
        sending,
        sse.until_disconnect(request.receive, leaving, answer=answer),
        until_lost(principal, run_id, owner, whole=whole),
    )
    if refused:
        await refuse_lost(run_id, owner, request.since)
    return refused


async def until_lost(principal: Principal, run_id: UUID, owner: UUID, *, whole: bool) -> None:
    """Return once the principal may not read the run of that owner, or its ``whole`` log."""
    await recheck.until_lost(
        {revocation.group(team) for team in (principal.team.pk, owner)},
        partial(db_read, partial(sight.remaining, principal, whole=whole)),
        settings.AGUI_SSE_HEARTBEAT,
        question=(principal.credential, owner, whole),
        subject=run_id,
    )


async def refuse_lost(run_id: UUID, owner: UUID, since: int) -> None:
    """Raises Reset if a run that was read ``since`` that epoch was lost with a later one's begin.

    For a reader who has lost access to it; where the epoch is the same, a revocation that ends
    thousands of streams asks nothing more.
    """
    if epochs.latest != since:
        await db_read(cursors.of_lost_run, run_id, owner)


async def _follow_each(
    logs: Logs,
    after: int,
    reader: Reader | None,
    sights: Mapping[UUID, Sight],
    viewing: Viewing,
    corrected: bool,
) -> AsyncGenerator[Frames | None, None]:
    idle, head = settings.AGUI_SSE_HEARTBEAT, logs.head
    for run_id in logs.runs:
        frames = follow(run_id, after, idle=idle, reader=reader)
        if (single := sights.get(run_id)) is not None:
            alone = await db_read(single.view, after)
            frames = _through(frames, alone.see, viewing)
        if corrected:
            begins = None if single is None else single.begins
            if (now := await corrections.of_apart(run_id, logs.owner, head, begins)) is not None:
                frames = _through(frames, now.see, viewing)
        async with aclosing(frames):
            async for batch in frames:
                yield batch
                del batch  # A stalled reader must not keep two pages alive.
        after, head, reader = 0, None, None


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
            return _through(frames, alone.see, Viewing(payer_of(principal)))
    return frames


async def _through(
    frames: AsyncGenerator[Frames | None, None], see: Callable[[bytes], bytes], viewing: Viewing
) -> AsyncGenerator[Frames | None, None]:
    async with aclosing(frames):
        async for batch in frames:
            yield batch and await viewing.make(batch.size, partial(batch.through, see))
            del batch
