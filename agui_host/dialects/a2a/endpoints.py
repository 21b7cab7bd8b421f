"""/a2a: A2A 1.0 over HTTP and JSON. A task is a run, and the runs that continue it with answers.

The methods do the same over JSON-RPC (``a2a_rpc.py``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid5

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects import resources, waiting
from agui_host.dialects.a2a import push_verbs as a2a_push
from agui_host.dialects.a2a import verbs as a2a
from agui_host.dialects.a2a.fold import Task, stream_response
from agui_host.dialects.a2a.request import SendRequest, length, read
from agui_host.dialects.teller import Teller
from agui_host.protocol.encoding import text_bytes
from agui_host.protocol.errors import BadRequest, HostError
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer_json
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from agui_host.web.shares import parsing
from runs.lifecycle.logs.joining import Cut
from runs.models import ENDED, Run

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
    body = parsing.body(request, principal.team.pk, read)
    await answer_json(
        send, 200, {"task": await answer_message(request, principal, await body)}, JSON
    )


async def answer_message(request: Request, principal: Principal, message: SendRequest) -> Frame:
    """The task of a message, when it has ended or asks something, or at once."""
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        turn = await db(_begin, principal, agent_of(request), message, key)
        immediately, most = message.immediately, message.history
        del message  # It must not live as long as the run.
        if not immediately:
            await waiting.until_end(request, principal, turn[-1])
            await waiting.reread(principal, turn[-1].pk)
        task, _ = await _folded(principal, turn)
    return _shortened(task.wire, most)


async def stream_message(request: Request, send: Send, principal: Principal) -> None:
    """POST …/message:stream; a client that leaves stops nothing."""
    body = parsing.body(request, principal.team.pk, read)
    await stream_sent(request, send, principal, await body, BARE)


async def stream_sent(
    request: Request, send: Send, principal: Principal, message: SendRequest, form: "Form"
) -> None:
    """The task of a message, then what changes."""
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        turn = await db(_begin, principal, agent_of(request), message, key)
        del message  # It must not live as long as the stream.
        # However quick the agent is, its output comes in pieces, not with the task.
        begun = await _folded(principal, turn, newest=False)
        await _stream(request, send, principal, turn, begun, form)


async def subscribe(request: Request, send: Send, principal: Principal) -> None:
    """POST, GET …/tasks/{id}:subscribe: the task so far, then the rest."""
    await stream_task(request, send, principal, request.kwargs["task"], BARE)


async def stream_task(
    request: Request, send: Send, principal: Principal, task_id: str, form: "Form"
) -> None:
    """The task so far, then the rest."""
    turn = await db_read(a2a.running, principal, agent_of(request), task_id)
    async with opened(principal):
        await _stream(request, send, principal, turn, await _folded(principal, turn), form)


async def get(request: Request, send: Send, principal: Principal) -> None:
    """GET …/tasks/{id}."""
    task = await one(request, principal, request.kwargs["task"], request.query)
    await answer_json(send, 200, task, JSON)


async def one(
    request: Request, principal: Principal, task_id: str, query: Mapping[str, str]
) -> Frame:
    """A task, at any age."""
    most = length(query.get("historyLength"))
    turn = await db_read(a2a.find, principal, agent_of(request), task_id)
    task, _ = await _folded(principal, turn)
    return _shortened(task.wire, most)


async def cancel(request: Request, send: Send, principal: Principal) -> None:
    """POST …/tasks/{id}:cancel; answers when the task has ended, after 10 s at most."""
    task = await cancelled(request, principal, request.kwargs["task"])
    await answer_json(send, 200, task, JSON)


async def cancelled(request: Request, principal: Principal, task_id: str) -> Frame:
    """A task after it was asked to stop."""
    turn = await db(a2a.cancel, principal, agent_of(request), task_id)
    await waiting.until_cancelled(request, turn[-1])
    await waiting.reread(principal, turn[-1].pk)
    task, _ = await _folded(principal, turn)
    return task.wire


async def tasks(request: Request, send: Send, principal: Principal) -> None:
    """GET …/tasks, newest first: their states, with ``includeArtifacts`` the whole tasks."""
    await answer_json(send, 200, await page_of(request, principal, request.query), JSON)


async def page_of(request: Request, principal: Principal, query: Mapping[str, str]) -> Frame:
    """A page of tasks."""
    most = length(query.get("historyLength"))
    page, following = await db_read(a2a.page, principal, agent_of(request), query)
    whole = query.get("includeArtifacts") == "true"
    listed = [
        _shortened((await _folded(principal, turn))[0].wire, most) if whole else a2a.summary(turn)
        for turn in page
    ]
    state = a2a.wanted_state(query)
    listed = [task for task in listed if state in (None, task["status"]["state"])]
    return {"tasks": listed, **following}


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
    request: Request,
    send: Send,
    principal: Principal,
    turn: list[Run],
    begun: tuple[Task, int],
    form: "Form",
) -> None:
    (task, position), run = begun, turn[-1]
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        cut=Cut(position, form.framed(0, {"type": "task", "task": task.wire})),
        view=Teller(task, form.framed),
        headers=[],
        wire=form.wire,
        corrected=not position and run.status in ENDED,
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


class Form(NamedTuple):
    """The form of a stream's frames, and of the error that ends it, in a binding of A2A."""

    frame: Callable[[Frame], Frame]
    error: Callable[[HostError], Frame]
    name: bytes = b""

    def framed(self, number: int, frame: Frame) -> bytes:
        """The bytes of a frame."""
        return b"data: %b\n\n" % text_bytes(dumps(self.frame(stream_response(frame))))

    def ending(self, error: HostError) -> bytes:
        """The bytes of an error."""
        return b"%bdata: %b\n\n" % (self.name, text_bytes(dumps(self.error(error))))

    @property
    def wire(self) -> sse.Wire:
        """The stream besides its frames."""
        return sse.WITHOUT_RETRY._replace(reset=self.ending)


BARE = Form(lambda frame: frame, error_body, b"event: error\n")


def _shortened(task: Frame, most: int | None) -> Frame:
    if most is None:
        return task
    return {**task, "history": task["history"][len(task["history"]) - most :] if most else []}
