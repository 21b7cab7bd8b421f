"""/a2a: A2A 1.0 over HTTP and JSON. A task is a run, and those that continue it with answers."""

from functools import partial
from typing import Any
from uuid import uuid5

from backends.postgres.bridge import db, db_read
from protocol.dialects.a2a.request import SendRequest, length, read
from protocol.dialects.a2a.task import Task, stream_response
from protocol.dialects.fold import Frame
from protocol.encoding import text_bytes
from protocol.errors import BadRequest, HostError
from protocol.strict_json import dumps
from runs.access.dialects import a2a, a2a_push
from runs.lifecycle.joining import Cut
from runs.models import Run
from teams.authentication import Principal
from web import sse
from web.asgi_http import Request, answer_json
from web.consumers.dialects import resources, waiting
from web.consumers.dialects.teller import Teller
from web.consumers.opening import opened
from web.consumers.stream import Logs, stream_run
from web.scope import Send
from web.shares import parsing

JSON = {"content-type": "application/a2a+json"}
STATUSES = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    410: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
REASONS = {
    "bad_request": "INVALID_REQUEST",
    "bad_parameter": "INVALID_PARAMS",
    "invalid": "INVALID_PARAMS",
    "interrupt_answer_invalid": "INVALID_PARAMS",
    "method_not_allowed": "METHOD_NOT_FOUND",
    "purged": "TASK_NOT_FOUND",
    "address_refused": "INVALID_PARAMS",
}
"""A2A's names for errors of this host; others are called as they are here."""


class VersionNotSupported(BadRequest):
    """This host speaks version 1.0 of A2A."""

    code = "version_not_supported"


def error_body(error: HostError) -> dict[str, Any]:
    """An error as google.rpc.Status, whose reason names it."""
    default = "INTERNAL" if error.status >= 500 else "INVALID_ARGUMENT"
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": REASONS.get(error.code, error.code.upper()),
        "domain": "a2a-protocol.org",
        "metadata": {name: str(value) for name, value in error.details.items()},
    }
    status = STATUSES.get(error.status, default)
    about = {"code": error.status, "status": status, "message": error.message, "details": [info]}
    return {"error": about}


def _refuse_other_versions(request: Request) -> None:
    if not request.headers.get("a2a-version", a2a.VERSION).startswith("1."):
        raise VersionNotSupported


resource = partial(resources.resource, error_body=error_body, refuse=_refuse_other_versions)
nowhere = resources.nowhere(error_body)


def agent_of(request: Request) -> str | None:
    """The agent that the address names; None for the team's default agent."""
    return request.kwargs.get("slug")


async def card(request: Request, send: Send, principal: Principal) -> None:
    """GET /.well-known/agent-card.json, /a2a/{slug}/.well-known/agent-card.json."""
    await answer_json(
        send, 200, await db_read(a2a.card, principal, request.base, agent_of(request))
    )


async def send_message(request: Request, send: Send, principal: Principal) -> None:
    """POST …/message:send; answers with the task when it has ended or asks something."""
    message = await parsing.body(request, principal.team.pk, read)
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        turn = await db(_begin, principal, agent_of(request), message, key)
        if not message.immediately:
            await waiting.until_end(request, principal, turn[-1])
            await waiting.reread(principal, turn[-1].pk)
        task, _ = await _folded(principal, turn)
    await answer_json(send, 200, {"task": _shortened(task.wire, message.history)}, JSON)


async def stream_message(request: Request, send: Send, principal: Principal) -> None:
    """POST …/message:stream; a client that leaves stops nothing."""
    message = await parsing.body(request, principal.team.pk, read)
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        turn = await db(_begin, principal, agent_of(request), message, key)
        del message  # It must not live as long as the stream.
        # However quick the agent is, what it says comes in pieces, not with the task.
        await _stream(request, send, principal, turn, await _folded(principal, turn, newest=False))


async def subscribe(request: Request, send: Send, principal: Principal) -> None:
    """POST, GET …/tasks/{id}:subscribe: the task so far, then what follows."""
    turn = await db_read(a2a.running, principal, agent_of(request), request.kwargs["task"])
    async with opened(principal):
        await _stream(request, send, principal, turn, await _folded(principal, turn))


async def get(request: Request, send: Send, principal: Principal) -> None:
    """GET …/tasks/{id}."""
    most = length(request.query.get("historyLength"))
    turn = await db_read(a2a.find, principal, agent_of(request), request.kwargs["task"])
    task, _ = await _folded(principal, turn)
    await answer_json(send, 200, _shortened(task.wire, most), JSON)


async def cancel(request: Request, send: Send, principal: Principal) -> None:
    """POST …/tasks/{id}:cancel; answers when the task has ended, after 10 s at most."""
    turn = await db(a2a.cancel, principal, agent_of(request), request.kwargs["task"])
    await waiting.until_cancelled(request, turn[-1])
    await waiting.reread(principal, turn[-1].pk)
    task, _ = await _folded(principal, turn)
    await answer_json(send, 200, task.wire, JSON)


async def tasks(request: Request, send: Send, principal: Principal) -> None:
    """GET …/tasks, newest first: their states, with ``includeArtifacts`` the whole tasks."""
    most = length(request.query.get("historyLength"))
    page, following = await db_read(a2a.page, principal, agent_of(request), request.query)
    whole = request.query.get("includeArtifacts") == "true"
    listed = [
        _shortened((await _folded(principal, turn))[0].wire, most) if whole else a2a.summary(turn)
        for turn in page
    ]
    state = request.query.get("status")
    listed = [task for task in listed if state in (None, "", task["status"]["state"])]
    await answer_json(send, 200, {"tasks": listed, **following}, JSON)


def _begin(
    principal: Principal, slug: str | None, message: SendRequest, key: str | None
) -> list[Run]:
    """Start or continue a task, with its push notifications if the request has a config."""
    if message.push is not None:
        a2a_push.check(message.push)
    turn = a2a.begin(principal, slug, message, key)
    if message.push is not None:
        task = turn[0].pk
        push = message.push if key is None else message.push.named(str(uuid5(task, key)))
        a2a_push.put(principal, slug, str(task), push)
    return turn


async def _stream(
    request: Request, send: Send, principal: Principal, turn: list[Run], begun: tuple[Task, int]
) -> None:
    (task, position), run = begun, turn[-1]
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        cut=Cut(position, _framed(0, {"type": "task", "task": task.wire})),
        view=Teller(task, _framed),
        headers=[],
        wire=sse.WITHOUT_RETRY,
    )


async def _folded(
    principal: Principal, turn: list[Run], *, newest: bool = True
) -> tuple[Task, int]:
    """A task so far, and the position of its newest run; without ``newest``, at its start."""
    task, position = a2a.fold(turn), 0
    for run in turn:
        if run is not turn[0]:
            task.next_run()
        if newest or run is not turn[-1]:
            position = await waiting.feed(task, principal, run)
    return task, position if newest else 0


def _framed(number: int, frame: Frame) -> bytes:
    return b"data: %b\n\n" % text_bytes(dumps(stream_response(frame)))


def _shortened(task: Frame, most: int | None) -> Frame:
    if most is None:
        return task
    return {**task, "history": task["history"][len(task["history"]) - most :] if most else []}
