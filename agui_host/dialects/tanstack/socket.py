"""WS /agui/agent/{slug}/ws: a conversation in TanStack AI's envelope.

The client sends a RunAgentInput for each turn and ``{"type": "abort", "runId"}`` to stop one; the
host sends ``{"id": seq, "chunk": event}``. With ``?runId=&offset=`` the socket reads one run after
that offset (-1: all of it) and closes with 1000 behind its end.
"""

import asyncio
from collections.abc import Mapping, MutableMapping
from contextlib import aclosing
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends.epochs import Reset
from agui_host.backends.held import Hold
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.tanstack import verbs as tanstack
from agui_host.dialects.tanstack.wire import envelope, refusal
from agui_host.errors import NotFound
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.strict_json import dumps
from agui_host.teams import authentication, revocation
from agui_host.teams.authentication import Principal
from agui_host.web import sse, websocket
from agui_host.web.answers import as_host_error, log_failure
from agui_host.web.asgi_http import Request
from agui_host.web.callers import of_team
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.sockets import socket
from agui_host.web.consumers.stream import Logs, followed, until_lost, while_allowed
from agui_host.web.scope import Send
from agui_host.web.shares import parsing
from agui_host.web.shares.pace import pace_of
from events import recheck
from events.frames import Frames
from runs.access import access, cursors, sight, start
from runs.lifecycle import lifecycle
from runs.models import Run

AT_ONCE = 16
"""Turns that a socket works on; with more of them nothing is read until one has ended."""


def enveloped(batch: Frames) -> list[str]:
    """The events of a batch as TanStack's client reads them."""
    numbered = enumerate(batch.texts, batch.first)
    return [envelope(batch.at(seq).name, text) for seq, text in numbered]


def _read(text: str) -> tuple[bytes, dict[str, Any]]:
    """A frame as bytes and as a value. Raises TooLarge and BadRequest."""
    data = text.encode(errors="surrogatepass")
    parsing.refuse_size(len(data))
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise BadRequest("A frame is a RunAgentInput, as a JSON object.")
    return data, value


@socket()
async def tanstack_socket(request: Request, send: Send) -> websocket.Close | None:
    """The close code, or None if the peer has left."""
    principal = await arriving.program(request)
    arriving.refuse_foreign_page(principal, request, json_body=False)
    if "offset" in request.query:
        return await _replay(request, send, principal)
    async with opened(principal):
        request.release()
        return await Conversation(request, send, principal).serve()


async def _replay(request: Request, send: Send, principal: Principal) -> websocket.Close | None:
    """Send the run that the address names, from its offset to its end."""
    after = tanstack.position({}, request.query["offset"])
    slug, run_id = request.kwargs["slug"], request.query.get("runId", "")
    run = await db(tanstack.named, principal, slug, run_id)
    after = cursors.place(run, after)
    code: websocket.Close | None = None

    async def sending() -> None:
        nonlocal code
        code = await _stream(send, principal, run, after)

    try:
        async with opened(principal):
            refused = await while_allowed(
                sending(),
                request,
                principal,
                run.pk,
                run.team_id,
                leaving="websocket.disconnect",
                whole=sight.is_whole(principal, run) or None,
            )
    except Reset as error:
        await send(_refusal(error))
        raise
    return websocket.Close.REVOKED if refused else code


async def _stream(send: Send, principal: Principal, run: Run, after: int) -> websocket.Close:
    logs = Logs.of(principal, run)
    log = await followed(principal, logs, after, idle=settings.AGUI_SSE_HEARTBEAT)
    async with aclosing(log) as frames:
        return await websocket.stream(
            send, frames, stall=settings.AGUI_STALL_TIMEOUT, heartbeats=True, texts=enveloped
        )


def _refusal(error: HostError) -> dict[str, Any]:
    return {"type": "websocket.send", "text": dumps(refusal(error))}


async def _never() -> None:
    await asyncio.Event().wait()


class Conversation:
    """One socket and its turns."""

    def __init__(self, request: Request, send: Send, principal: Principal) -> None:
        self._request = request
        self._principal = principal
        self._team = principal.team.pk
        self._raw_send = send
        self._one_at_a_time = asyncio.Lock()
        self._over: asyncio.Future[websocket.Close] = asyncio.get_running_loop().create_future()
        self._turns: set[asyncio.Task[None]] = set()
        self._runs: dict[str, UUID] = {}

    async def serve(self) -> websocket.Close | None:
        """Read until the peer leaves, which cancels no run; the close code if it does not."""
        reading = asyncio.create_task(self._read())
        watching = asyncio.create_task(self._until_shut_out())
        either: set[asyncio.Future[Any]] = {reading, watching, self._over}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
                return None
            if watching.done():
                watching.result()
                return websocket.Close.REVOKED
            return self._over.result()
        finally:
            tasks = [reading, watching, *self._turns]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._over.cancel()

    async def _read(self) -> None:
        pace = pace_of(self._team)
        while (message := await self._request.receive())["type"] == "websocket.receive":
            size = len(message.get("text") or message.get("bytes") or "")
            hold: Hold | None = None
            try:
                hold = parsing.admit(self._team, size)
                await pace.frame(size)
                if await self._take(message, hold):
                    hold = None  # The turn closes it.
            except Exception as error:
                await self._fail(error)
            finally:
                del message  # An idle socket does not hold its last frame.
                if hold is not None:
                    hold.close()

    async def _take(self, message: Mapping[str, Any], hold: Hold) -> bool:
        """Whether a turn has begun, which closes ``hold``."""
        text = message.get("text") or ""
        data, value = await parsing.in_turn(self._team, text, partial(_read, text), hold)
        match value.get("type"):
            case None:
                await self._begin(data, hold)
                return True
            case "abort":
                await self._abort(value.get("runId"))
            case "ping":
                await self._send({"type": "websocket.send", "text": websocket.HEARTBEAT})
            case _:
                raise BadRequest("A frame is a RunAgentInput, or has the type abort or ping.")
        return False

    async def _begin(self, data: bytes, hold: Hold) -> None:
        while len(self._turns) >= AT_ONCE:
            await asyncio.wait(self._turns, return_when=asyncio.FIRST_COMPLETED)
        turn = asyncio.create_task(self._turn(data, hold))
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)
        turn.add_done_callback(lambda _: hold.close())

    async def _turn(self, data: bytes, hold: Hold) -> None:
        """Start a run and send it; an existing one is sent from its first event."""
        try:
            async with self._request.admitted(of_team(self._team), "start"):
                run = await db(self._start, data)
            del data  # It must not live as long as the stream.
            hold.close()
            self._runs[run.run_id] = run.pk
            code = websocket.Close.FINISHED

            async def sending() -> None:
                nonlocal code
                code = await _stream(self._send, self._principal, run, 0)

            whole = bool(await db_read(sight.seen_whole, self._principal, [run.pk]))
            lost = until_lost(self._principal, run.pk, run.team_id, whole=whole)
            if await sse.beside(sending(), _never(), lost):
                code = websocket.Close.REVOKED
            if code != websocket.Close.FINISHED and not self._over.done():
                self._over.set_result(code)
        except Exception as error:
            await self._fail(error)

    def _start(self, data: bytes) -> Run:
        return start.start_from_agui(
            authentication.current(self._principal),
            data,
            agent=self._request.kwargs["slug"],
            on_busy=self._request.query.get("on_busy"),
            key=None,
            cursor=None,
            chat=True,
        ).run

    async def _until_shut_out(self) -> None:
        """Return once the credential has ended, also while no run streams."""
        await recheck.until_refused(
            {revocation.group(self._team)},
            partial(db_read, self._still_here),
            settings.AGUI_SSE_HEARTBEAT,
        )

    def _still_here(self) -> bool:
        return authentication.refreshed(self._principal) is not None

    async def _abort(self, run_id: Any) -> None:
        if not isinstance(run_id, str) or (key := self._runs.get(run_id)) is None:
            raise NotFound("No run of this socket has that runId.")
        async with self._request.admitted(of_team(self._principal.team.pk), "write"):
            await db(self._cancel, key)

    def _cancel(self, key: UUID) -> None:
        principal = authentication.current(self._principal)
        lifecycle.cancel(access.find(principal, key, "cancel"), principal)

    async def _fail(self, error: Exception) -> None:
        """Tell the client in the one way in which it understands errors."""
        ours = as_host_error(error)
        log_failure(error, ours, path=self._request.scope["path"])
        await self._send(_refusal(ours))

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        async with self._one_at_a_time:
            await self._raw_send(message)
