"""CopilotKit's Intelligence runtime: POST …/run and …/connect lead to a channel.

The events come through the channel (``intelligence_socket.py``), whose ticket is good for one
connection: its client keeps the parameters of a join, so that a client that comes back with them
would get events again. Refused, it asks here with its cursor, and resumes exactly.
"""

from typing import Any, NamedTuple
from uuid import UUID

from agui_host.backends.postgres.bridge import db
from agui_host.dialects.copilotkit import verbs as copilot_channel
from agui_host.protocol import strict_json
from agui_host.teams.access import tickets
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer, answer_json, endpoint
from agui_host.web.consumers.agui import authenticate
from agui_host.web.consumers.connect import thread_of
from agui_host.web.scope import Send
from runs.access import start


class Way(NamedTuple):
    """To the channel of a thread; ``run_id`` is the client's name of the run that is active."""

    thread: UUID
    thread_id: str
    run_id: str | None
    ticket: str


@endpoint
async def intelligence_run(request: Request, send: Send) -> None:
    """Start a run, which the client then joins; 409 for a thread that is busy."""
    principal = await authenticate(request)
    body, key = await request.body(), request.headers.get("idempotency-key")
    way = await db(_start, principal, request.kwargs["slug"], body, key)
    await answer_json(send, 200, _wire(request, way))


@endpoint
async def intelligence_connect(request: Request, send: Send) -> None:
    """The way to a thread; 204 for one without any run."""
    principal = await authenticate(request)
    body = await request.body()
    way = await db(_find, principal, request.kwargs["slug"], body)
    if way is None:
        await answer(send, 204)
    else:
        await answer_json(send, 200, _wire(request, way))


def _start(principal: Principal, slug: str, body: bytes, key: str | None) -> Way:
    outcome = start.start_from_agui(principal, body, agent=slug, on_busy=None, key=key, cursor=None)
    run = outcome.run
    ticket = tickets.mint_for_channel(principal, run.thread_id)
    return Way(run.thread_id, run.thread.thread_id, run.run_id, ticket)


def _find(principal: Principal, slug: str, body: bytes) -> Way | None:
    thread_id, _ = thread_of(strict_json.loads(body))
    start.find_agent(principal, slug)
    thread = copilot_channel.thread_with_runs(principal, thread_id)
    if thread is None:
        return None
    run_id = copilot_channel.active_run_id(principal, thread.pk)
    return Way(thread.pk, thread_id, run_id, tickets.mint_for_channel(principal, thread.pk))


def _wire(request: Request, way: Way) -> dict[str, Any]:
    scheme = "wss" if request.scheme == "https" else "ws"
    host = request.headers.get("host", "")
    return {
        "threadId": way.thread_id,
        "runId": way.run_id,
        "joinToken": way.ticket,
        "realtime": {
            "clientUrl": f"{scheme}://{host}/agui/intelligence/socket",
            "topic": topic_of(way.thread),
        },
    }


def topic_of(thread: UUID) -> str:
    """The name of a thread's channel."""
    return f"thread:{thread.hex}"
