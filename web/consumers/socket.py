"""WS /ws/runs/{id}/?after=: one run's bare events, then a close code that says why it ended."""

from contextlib import aclosing

from django.conf import settings

from agui_project.errors import Forbidden
from backends.postgres.bridge import db
from events.follow import follow
from protocol.errors import HostError
from runs.access import access, cursors
from runs.models import Run
from teams.authentication import Principal
from web import websocket
from web.answers import as_host_error, log_failure
from web.asgi_http import Request
from web.consumers import arriving
from web.consumers.opening import opened
from web.consumers.stream import while_allowed
from web.scope import Receive, Scope, Send, host_allowed


async def run_socket(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept, check, stream, close. Refusals are accepted first: browsers see no HTTP status."""
    if (await receive())["type"] != "websocket.connect":
        return
    await send({"type": "websocket.accept"})
    try:
        code = await _serve(Request(scope, receive), send)
    except HostError as error:
        await _close(send, error.close, error.code)
    except Exception as error:
        ours = as_host_error(error)
        log_failure(error, ours, path=scope["path"])
        await _close(send, ours.close, ours.code)
    else:
        if code is not None:
            await _close(send, code, code.name.lower())


async def _serve(request: Request, send: Send) -> websocket.Close | None:
    """The close code, or None if the peer has left."""
    principal, run, after = await _authorize(request)
    code: websocket.Close | None = None

    async def sending() -> None:
        nonlocal code
        async with aclosing(follow(run.pk, after, idle=settings.AGUI_SSE_HEARTBEAT)) as frames:
            code = await websocket.stream(send, frames, stall=settings.AGUI_STALL_TIMEOUT)

    async with opened(principal):
        refused = await while_allowed(
            sending(), request, principal, run.pk, run.team_id, leaving="websocket.disconnect"
        )
    return websocket.Close.REVOKED if refused else code


async def _authorize(request: Request) -> tuple[Principal, Run, int]:
    if not host_allowed(request.headers):
        raise Forbidden
    principal = await arriving.reader(request, again="after" in request.query)
    arriving.refuse_foreign_page(principal, request, json_body=False)
    run = await db(access.find, principal, request.kwargs["run_id"])
    return principal, run, cursors.place(run, cursors.from_request({}, request.query))


async def _close(send: Send, code: int, reason: str) -> None:
    await send({"type": "websocket.close", "code": int(code), "reason": reason})
