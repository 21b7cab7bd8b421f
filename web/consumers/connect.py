"""POST /agui/agent/{slug}/connect: a front end that was reloaded gets its thread back.

CopilotKit's contract: the body is a RunAgentInput of which only the thread counts; the answer is
what the thread adds up to as snapshots, then the run that is live, then the end.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from backends.postgres.bridge import db_read
from events.frames import Frames
from protocol import strict_json
from protocol.errors import BadRequest
from protocol.input.fields import rename, wrong
from protocol.input.run_agent_input import SNAKE
from runs.access import access, cursors, start
from runs.lifecycle import joining
from runs.lifecycle.joining import Cut
from teams.authentication import Principal
from web import sse
from web.asgi_http import Request, Send, endpoint
from web.consumers.agui import authenticate
from web.consumers.opening import opened
from web.consumers.stream import stream_run


@dataclass(frozen=True, slots=True)
class Joined:
    """Where a reader of a thread begins; no ``runs`` for a thread that has none."""

    cut: Cut
    runs: list[UUID]
    owner: UUID
    declared: str | None


@endpoint
async def connect(request: Request, send: Send) -> None:
    """Stream a thread: history, live run, runs that wait for it. An unknown thread is empty."""
    principal = await authenticate(request)
    cursors.protocol(request.query)  # refused before anything is read
    body = await request.body()
    joined = await db_read(_join, principal, request.kwargs["slug"], body)
    if not joined.runs:
        await _nothing(send)
        return
    async with opened(principal):
        await stream_run(
            request,
            send,
            principal,
            joined.runs,
            owner=joined.owner,
            cut=joined.cut,
            reads=cursors.protocol(request.query, joined.declared),
        )


def _join(principal: Principal, slug: str, body: bytes) -> Joined:
    thread_id, declared = _asked(strict_json.loads(body))
    thread = access.find_thread(principal, thread_id)
    start.find_agent(principal, slug)
    found = joining.thread(thread.pk) if thread else None
    cut, runs = found or (Cut(0, b""), [])
    return Joined(cut, runs, thread.team_id if thread else principal.team.pk, declared)


def _asked(data: Any) -> tuple[str, str | None]:
    """The thread's name, and the version that the reader declares. Raises BadRequest, Invalid."""
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object: a RunAgentInput.")
    data = rename(data, SNAKE)
    thread_id = data.get("threadId")
    if not isinstance(thread_id, str) or not thread_id:
        raise wrong("threadId", "a string that is not empty")
    declared = data.get("protocolVersion")
    return thread_id, declared if isinstance(declared, str) and declared else None


async def _nothing(send: Send) -> None:
    async def no_frames() -> AsyncGenerator[Frames, None]:
        return
        yield

    await sse.begin(send, [])
    await sse.stream(send, no_frames(), stall=settings.AGUI_STALL_TIMEOUT)
