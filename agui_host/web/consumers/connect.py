"""POST /agui/agent/{slug}/connect: a reloaded front end gets its thread back.

CopilotKit's contract: the body is a RunAgentInput of which only the thread counts; the answer is
the thread's history as snapshots, then the live run, then the end.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends.postgres.bridge import db_read
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.fields import rename, wrong
from agui_host.protocol.input.run_agent_input import SNAKE
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, endpoint
from agui_host.web.consumers.agui import authenticate
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from events.frames import Frames
from runs.access import access, cursors, start
from runs.lifecycle.logs import joining
from runs.lifecycle.logs.joining import Cut


@dataclass(frozen=True, slots=True)
class Joined:
    """Where a reader of a thread begins; ``runs`` is empty for a thread without any."""

    cut: Cut
    runs: list[UUID]
    owner: UUID
    declared: str | None


@endpoint
async def connect(request: Request, send: Send) -> None:
    """Stream a thread: its history, the live run, those after it. An unknown one is empty."""
    principal = await authenticate(request)
    cursors.protocol(request.query)  # refused before anything is read
    body = await request.body()
    joined = await db_read(_join, principal, request.kwargs["slug"], body)
    if not joined.runs:
        await _nothing(send)
        return
    reads = cursors.protocol(request.query, joined.declared)
    logs = Logs(joined.runs, joined.owner, doubtful=[])  # the thread is visible
    cuts = [joined.cut]
    del joined  # A cut must not live as long as the stream.
    async with opened(principal):
        await stream_run(request, send, principal, logs, cut=cuts.pop(), reads=reads)


def _join(principal: Principal, slug: str, body: bytes) -> Joined:
    thread_id, declared = thread_of(strict_json.loads(body))
    thread = access.find_thread(principal, thread_id)
    start.find_agent(principal, slug)
    joined = joining.thread(thread.pk) if thread else None
    cut, runs = joined or (Cut(0, b""), [])
    return Joined(cut, runs, thread.team_id if thread else principal.team.pk, declared)


def thread_of(data: Any) -> tuple[str, str | None]:
    """The thread's name, and the version that the reader declares. Raises BadRequest, Invalid."""
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object: a RunAgentInput.")
    data = rename(data, SNAKE)
    thread_id = data.get("threadId")
    if not isinstance(thread_id, str) or not thread_id:
        raise wrong("threadId", "a non-empty string")
    declared = data.get("protocolVersion")
    return thread_id, declared if isinstance(declared, str) and declared else None


async def _nothing(send: Send) -> None:
    async def no_frames() -> AsyncGenerator[Frames, None]:
        return
        yield

    await sse.begin(send, [])
    await sse.stream(send, no_frames(), stall=settings.AGUI_STALL_TIMEOUT)
