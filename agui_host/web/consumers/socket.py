"""WS /ws/runs/{id}/?after=: one run's bare events, then a close code with the reason."""

import asyncio
from contextlib import aclosing
from typing import Any

from django.conf import settings

from agui_host.backends.postgres.bridge import db
from agui_host.protocol.errors import BadRequest, Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.protocol.strict_json import dumps
from agui_host.teams.authentication import Principal
from agui_host.web import websocket
from agui_host.web.asgi_http import Request
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.sockets import socket
from agui_host.web.consumers.stream import Logs, followed, while_allowed
from agui_host.web.scope import Send
from agui_host.web.shares.pace import pace_of
from runs.access import access, cursors, sight
from runs.models import Run

MOST_HEARTBEAT = 3600
TAKES_NOTHING = dumps(
    BadRequest("This socket only sends one run's events; requests go to WS /ws/.").as_json()
)
"""The answer to a frame. It has no ``type``, so that it is not taken for an event."""


@socket()
async def run_socket(request: Request, send: Send) -> websocket.Close | None:
    """The close code, or None if the peer has left."""
    heartbeat = _heartbeat(request)
    principal, run, after = await _authorize(request)
    code: websocket.Close | None = None
    one_at_a_time, pace = asyncio.Lock(), pace_of(principal.team.pk)

    async def send_next(message: Any) -> None:
        async with one_at_a_time:
            await send(message)

    async def sending() -> None:
        nonlocal code
        idle = heartbeat or settings.AGUI_SSE_HEARTBEAT
        log = await followed(principal, Logs.of(principal, run), after, idle=idle)
        async with aclosing(log) as frames:
            code = await websocket.stream(
                send_next,
                frames,
                stall=settings.AGUI_STALL_TIMEOUT,
                heartbeats=heartbeat is not None,
            )

    async def answer() -> None:
        await pace.frame()
        await send_next({"type": "websocket.send", "text": TAKES_NOTHING})

    async with opened(principal):
        refused = await while_allowed(
            sending(),
            request,
            principal,
            run.pk,
            run.team_id,
            leaving="websocket.disconnect",
            answer=answer,
            whole=sight.is_whole(principal, run) or None,
        )
    return websocket.Close.REVOKED if refused else code


def _heartbeat(request: Request) -> int | None:
    """Seconds of ``?heartbeat=``. Raises Invalid."""
    text = request.query.get("heartbeat")
    if text is None:
        return None
    if (seconds := whole(text, 1, MOST_HEARTBEAT)) is not None:
        return seconds
    message = f"heartbeat must be 1 to {MOST_HEARTBEAT} seconds."
    raise Invalid(message, details={"path": "heartbeat"})


async def _authorize(request: Request) -> tuple[Principal, Run, int]:
    principal = await arriving.reader(request, again="after" in request.query)
    arriving.refuse_foreign_page(principal, request, json_body=False)
    run = await db(access.find, principal, request.kwargs["run_id"])
    return principal, run, cursors.place(run, cursors.from_request({}, request.query))
