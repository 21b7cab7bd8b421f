"""WS /agui/intelligence/socket/websocket: one thread's events in a channel of Phoenix."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects import chats
from agui_host.dialects.copilotkit import verbs as copilot_channel
from agui_host.dialects.copilotkit import wire
from agui_host.dialects.copilotkit.endpoints import topic_of
from agui_host.dialects.copilotkit.verbs import Reading
from agui_host.dialects.copilotkit.wire import Frame
from agui_host.errors import Conflict, NotFound, TooLarge
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.ids import named
from agui_host.protocol.views.legacy import NEWEST, Older
from agui_host.teams import authentication, revocation
from agui_host.teams.access import tickets
from agui_host.teams.authentication import Principal
from agui_host.web import sse, websocket
from agui_host.web.answers import as_host_error, log_failure
from agui_host.web.asgi_http import Request
from agui_host.web.callers import of_team
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.sockets import socket
from agui_host.web.scope import Send
from agui_host.web.shares.pace import pace_of
from agui_host.web.shares.viewing import Viewing
from events import recheck
from events.follow import follow
from runs.access import access, sight

MAX_FRAME = 16 * 1024


@socket(accepts=False)
async def intelligence_socket(request: Request, send: Send) -> websocket.Close | None:
    """The close code, or None if the peer has left.

    A used ticket is refused before the socket opens: only that makes the client ask for another.
    """
    token = request.query.get("join_token", "")
    principal, thread = await db(tickets.redeem_for_channel, token)
    async with opened(principal):
        await send({"type": "websocket.accept"})
        request.release()
        return await Channel(request, send, principal, thread).serve()


class Channel:
    """One socket, which joins the thread of its ticket once."""

    def __init__(self, request: Request, send: Send, principal: Principal, thread: UUID) -> None:
        self._request = request
        self._principal = principal
        self._thread = thread
        self._raw_send = send
        self._one_at_a_time = asyncio.Lock()
        self._joined: asyncio.Future[tuple[Frame, Reading]]
        self._joined = asyncio.get_running_loop().create_future()
        self._ended = False
        self._malformed: HostError | None = None

    async def serve(self) -> websocket.Close | None:
        """Read and send until the peer leaves, all is sent, or the right to read is gone."""
        team = self._principal.team.pk
        refused = await sse.beside(
            self._stream(),
            self._read(),
            recheck.until_refused(
                {revocation.group(team)}, self._is_readable, settings.AGUI_SSE_HEARTBEAT
            ),
        )
        if self._malformed is not None:
            raise self._malformed
        if refused:
            return websocket.Close.REVOKED
        return websocket.Close.FINISHED if self._ended else None

    async def _is_readable(self) -> bool:
        if not self._joined.done():
            return await db_read(authentication.refreshed, self._principal) is not None
        _, reading = self._joined.result()
        return bool(await db_read(sight.remaining, self._principal, reading.runs[:1], whole=True))

    async def _read(self) -> None:
        pace = pace_of(self._principal.team.pk)
        while (message := await self._request.receive())["type"] == "websocket.receive":
            await pace.frame(len(message.get("text") or ""))
            try:
                frame = _frame(message)
            except HostError as error:
                self._malformed = error
                return
            await self._answer(frame)
            if frame.event == wire.LEAVE:
                return

    async def _answer(self, frame: Frame) -> None:
        reading: Reading | None = None
        try:
            match frame.event:
                case wire.JOIN:
                    reading = await self._join(frame)
                case wire.STOP:
                    await self._stop(frame.payload.get("run_id"))
                case wire.HEARTBEAT | wire.LEAVE:
                    pass
                case _:
                    raise BadRequest("A client can join, stop_run, leave and send heartbeats.")
        except Exception as error:
            ours = as_host_error(error)
            log_failure(error, ours, path=self._request.scope["path"])
            await self._send(wire.refusal(frame, ours))
            return
        await self._send(wire.reply(frame, {}))
        if reading is not None:
            self._joined.set_result((frame, reading))

    async def _join(self, frame: Frame) -> Reading:
        if frame.topic != topic_of(self._thread):
            raise NotFound("This ticket is for another thread.")
        if self._joined.done():
            raise Conflict("This socket has joined already.")
        async with self._request.admitted(of_team(self._principal.team.pk), "join"):
            return await db_read(
                copilot_channel.reading, self._principal, self._thread, frame.payload
            )

    async def _stop(self, run_id: Any) -> None:
        async with self._request.admitted(of_team(self._principal.team.pk), "start"):
            await db(self._cancel, run_id)

    def _cancel(self, run_id: Any) -> None:
        principal = authentication.current(self._principal)
        thread = access.visible_threads(principal).filter(pk=self._thread).first()
        if thread is None or not isinstance(run_id, str):
            raise NotFound("There is no such run.")
        if not chats.stop(principal, thread.thread_id, run_id=run_id):
            raise NotFound("No active run of this thread has that run_id.")

    async def _stream(self) -> None:
        join, reading = await self._joined
        try:
            await self._send_runs(join, reading)
        except Reset as error:
            for text in wire.failures(join, error):
                await self._send(text)
            raise

    async def _send_runs(self, join: Frame, reading: Reading) -> None:
        """The history if the client has none, then each run to its end."""
        older = Older(NEWEST)
        first, after = reading.runs[0], reading.cut.position
        latest = wire.place(first, named(after).decode()) if after else None
        opening = reading.cut.opening
        await self._push(join, first, len(opening), partial(older.opening, opening))
        for number, run in enumerate(reading.runs):
            if number == reading.replayed:
                await self._send(wire.control(join, wire.REPLAY_COMPLETE, latest))
            async with aclosing(follow(run, after, idle=settings.AGUI_SSE_HEARTBEAT)) as frames:
                async for batch in frames:
                    if batch is not None:
                        await self._push(join, run, batch.size, partial(older, batch))
                        latest = wire.place(run, batch.at(batch.last).name)
                    del batch
            after = 0
        if reading.replayed is not None:
            if reading.replayed == len(reading.runs):
                await self._send(wire.control(join, wire.REPLAY_COMPLETE, latest))
            await self._send(wire.control(join, wire.STREAM_IDLE, latest))
        self._ended = True

    async def _push(self, join: Frame, run: UUID, size: int, view: Callable[[], bytes]) -> None:
        """Send what ``view`` makes of ``size`` bytes of a log."""
        viewing = Viewing(self._principal.team.pk)
        for text in await viewing.make(size, lambda: list(wire.pushes(view(), join, run))):
            await self._send(text)

    async def _send(self, text: str) -> None:
        async with self._one_at_a_time, asyncio.timeout(settings.AGUI_STALL_TIMEOUT):
            await self._raw_send({"type": "websocket.send", "text": text})


def _frame(message: Mapping[str, Any]) -> Frame:
    text = message.get("text") or ""
    if len(text) > MAX_FRAME:
        raise TooLarge(f"A frame has at most {MAX_FRAME} characters.")
    return wire.read(strict_json.loads(text.encode(errors="surrogatepass")))
