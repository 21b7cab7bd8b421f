"""A call of MCP that is answered as a stream: headers at once, signs of life, then the answer.

Clients give up a call that stays silent for longer than their timeout, a minute by default.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from uuid import UUID

from django.conf import settings

from agui_host.dialects.mcp import rpc
from agui_host.dialects.mcp.rpc import Rpc
from agui_host.errors import Unauthenticated
from agui_host.protocol.encoding import text_bytes
from agui_host.protocol.errors import HostError
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request
from agui_host.web.consumers.stream import while_allowed
from agui_host.web.scope import Send
from events.follow import follow
from runs.models import Run

PROGRESS_EVERY = 1.0
"""Seconds. The timeout that a progress notification resets is a matter of the client."""


def accepts(request: Request) -> bool:
    """Whether the client reads an answer that is a stream."""
    return "text/event-stream" in request.headers.get("accept", "").lower()


async def send_answer(
    request: Request,
    send: Send,
    principal: Principal,
    call: Rpc,
    run: Run,
    answer: Callable[[], Awaitable[Frame]],
) -> None:
    """Send the ``answer`` to a call, which is made after the end of its run."""
    run_id, team = run.pk, run.team_id
    await sse.begin(send, (), sse.WITHOUT_RETRY)
    request.set_apart()
    sending = _answered(send, run_id, call, answer)
    try:
        refused = await while_allowed(
            sending, request, principal, run_id, team, leaving="http.disconnect"
        )
        if refused:
            raise Unauthenticated("Your credential was revoked while you were waiting.")
    except HostError as error:
        await sse.reset(send, error, sse.WITHOUT_RETRY._replace(reset=partial(_failed, call)))


async def _answered(
    send: Send, run_id: UUID, call: Rpc, answer: Callable[[], Awaitable[Frame]]
) -> None:
    await _until_end(send, run_id, call)
    last = _message({"id": call.id, "result": await answer()})
    await sse.piece(send, last, settings.AGUI_STALL_TIMEOUT, more=False)


async def _until_end(send: Send, run_id: UUID, call: Rpc) -> None:
    """Wait for the run's end; the stream is never silent for longer than a heartbeat."""
    token = call.progress_token
    # A stretch of the log and the silence after it can each be just shorter than this.
    pause = PROGRESS_EVERY if token is not None else settings.AGUI_SSE_HEARTBEAT / 2
    clock = asyncio.get_running_loop().time
    number, due = 0, 0.0
    async with aclosing(follow(run_id, idle=pause)) as frames:
        while True:
            if clock() >= due:
                number, due = number + 1, clock() + pause
                piece = sse.HEARTBEAT if token is None else _progress(token, number)
                await sse.piece(send, piece, settings.AGUI_STALL_TIMEOUT)
            batch = await anext(frames, False)
            if batch is False:
                return
            if batch is None:
                due = 0.0
            del batch


def _progress(token: int | str, number: int) -> bytes:
    params = {"progressToken": token, "progress": number}
    return _message({"method": "notifications/progress", "params": params})


def _failed(call: Rpc, error: HostError) -> bytes:
    return _message({"id": call.id, "error": rpc.error_of(error)})


def _message(members: Frame) -> bytes:
    return b"data: %b\n\n" % text_bytes(dumps({"jsonrpc": "2.0", **members}))
