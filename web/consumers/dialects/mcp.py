"""POST /mcp: the Model Context Protocol. Each agent that is marked as one is a tool.

A call is a run, and nothing is remembered between two requests: any web process answers.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from agui_project import cli
from agui_project.errors import MethodNotAllowed, Unauthenticated, UnknownMethod
from backends.postgres.bridge import db, db_read
from protocol.dialects.fold import Frame
from protocol.dialects.mcp import rpc
from protocol.dialects.mcp.result import COMPLETE, INPUT_REQUIRED, CallResult, for_handshake
from protocol.dialects.mcp.rpc import Rpc
from protocol.errors import HostError
from protocol.input.fields import wrong
from runs.access.dialects import mcp, tasks
from runs.models import Run
from teams.authentication import Principal
from web.asgi_http import Request, answer, answer_json, endpoint
from web.consumers import arriving
from web.consumers.dialects import waiting
from web.consumers.dialects.protected_resource import challenge
from web.consumers.opening import opened
from web.scope import Send
from web.shares import parsing

INSTRUCTIONS = "Each tool is an agent: tell it what you want. Runs are resources, newest first."
CAPABILITIES: Frame = {"tools": {}, "resources": {}}
UNCACHED = {"ttlMs": 0, "cacheScope": "private"}


class Call(NamedTuple):
    """A request with what is needed to answer it."""

    rpc: Rpc
    request: Request
    principal: Principal

    @property
    def params(self) -> dict[str, Any]:
        return self.rpc.params

    @property
    def key(self) -> str | None:
        return self.request.headers.get("idempotency-key")

    def text(self, name: str) -> str:
        """A parameter that is a text. Raises Invalid."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise wrong(name, "a string")
        return value


def error_body(error: HostError, key: int | str | None = None) -> Frame:
    """An error in JSON-RPC's shape."""
    return {"jsonrpc": "2.0", "id": key, "error": rpc.error_of(error)}


async def _mcp(request: Request, send: Send) -> None:
    try:
        principal = await arriving.caller(request)
    except Unauthenticated as error:
        error.headers["WWW-Authenticate"] = challenge(request)
        raise
    if request.scope["method"] != "POST":
        raise MethodNotAllowed(headers={"allow": "POST"})
    arriving.refuse_foreign_page(principal, request, json_body=True)
    body = await parsing.body(request, principal.team.pk, lambda body: body)
    key, modern = rpc.id_of(body), True
    try:
        message = rpc.read(body, request.headers)
        modern = message.modern
        if message.id is None:
            await answer(send, 202)
            return
        if message.method not in METHODS:
            raise UnknownMethod
        result = await METHODS[message.method](Call(message, request, principal))
    except HostError as error:
        answered = error_body(error, key)
        status = _status(error, answered, modern=modern)
        await answer_json(send, status, answered, error.headers)
        return
    result = {"resultType": COMPLETE, **result} if modern else for_handshake(result)
    await answer_json(send, 200, {"jsonrpc": "2.0", "id": key, "result": result})


def _status(error: HostError, body: Frame, *, modern: bool) -> int:
    """The status with which clients read the error of JSON-RPC in the body."""
    if error.status in (401, 403):
        return error.status
    if not modern:  # Clients of before 2026 read it only in an answer that is fine.
        return 200
    return 400 if body["error"]["code"] == rpc.INVALID_PARAMS else error.status


endpoint_of_mcp = endpoint(_mcp, error_body)


def _server() -> Frame:
    return {"name": "agui-host", "version": cli.version()}


async def _discover(call: Call) -> Frame:
    return {
        "supportedVersions": list(rpc.MODERN),
        "capabilities": {**CAPABILITIES, "extensions": {rpc.TASKS: {}}},
        "instructions": INSTRUCTIONS,
        "_meta": {f"{rpc.PREFIX}serverInfo": _server()},
        **UNCACHED,
    }


async def _initialize(call: Call) -> Frame:
    return {
        "protocolVersion": rpc.version_for(call.params),
        "capabilities": CAPABILITIES,
        "serverInfo": _server(),
        "instructions": INSTRUCTIONS,
    }


async def _ping(call: Call) -> Frame:
    return {}


async def _tools(call: Call) -> Frame:
    return {"tools": await db_read(mcp.tools, call.principal), **UNCACHED}


async def _call(call: Call) -> Frame:
    """Start or continue a call; its result, or a task for clients that can wait for one."""
    name, state = call.text("name"), call.params.get("requestState")
    async with opened(call.principal):
        if state is None:
            text, thread = rpc.text_of(call.params.get("arguments"))
            digest = call.rpc.digest
            turn = await db(mcp.begin, call.principal, name, text, thread, call.key, digest)
        else:
            turn = await _resumed(call, call.text("requestState"), name)
        if call.rpc.tasks:
            return {"resultType": "task", **mcp.task(turn)}
        await waiting.until_end(call.request, call.principal, turn[-1])
        await waiting.reread(call.principal, turn[-1].pk)
        return await _result(call.principal, turn)


async def _result(principal: Principal, turn: list[Run]) -> Frame:
    fold = CallResult(str(turn[0].pk))
    await waiting.feed(fold, principal, turn[-1])
    result = fold.result
    if result.get("resultType") == INPUT_REQUIRED:
        result = {**result, "requestState": str(turn[0].pk)}
    ids = {"threadId": turn[-1].thread.thread_id, "runId": turn[-1].run_id}
    return {**result, "_meta": {"agui": ids}}


async def _task(call: Call) -> Frame:
    turn = await db_read(tasks.find, call.principal, call.text("taskId"))
    task = mcp.task(turn)
    if task["status"] in ("working", "cancelled"):
        return task
    result = await _result(call.principal, turn)
    if task["status"] == INPUT_REQUIRED:
        return {**task, "inputRequests": result["inputRequests"]}
    return {**task, "result": result}


async def _update(call: Call) -> Frame:
    await _resumed(call, call.text("taskId"), None)
    return {}


async def _resumed(call: Call, task: str, name: str | None) -> list[Run]:
    responses = call.params.get("inputResponses")
    digest = call.rpc.digest
    return await db(mcp.resume, call.principal, task, name, responses, call.key, digest)


async def _cancel(call: Call) -> Frame:
    turn = await db(mcp.cancel, call.principal, call.text("taskId"))
    if call.rpc.modern:
        return {}
    await waiting.until_cancelled(call.request, turn[-1])  # Its answer was the cancelled task.
    return mcp.task(await db_read(tasks.find, call.principal, call.text("taskId")))


async def _resources(call: Call) -> Frame:
    page = await db_read(mcp.resources, call.principal, call.params.get("cursor"))
    return {**page, **UNCACHED}


async def _templates(call: Call) -> Frame:
    return {"resourceTemplates": mcp.TEMPLATES, **UNCACHED}


async def _read(call: Call) -> Frame:
    contents = await db_read(mcp.resource, call.principal, call.params.get("uri"))
    if isinstance(contents, Run):
        fold = CallResult(str(contents.pk))
        await waiting.feed(fold, call.principal, contents)
        address = {"uri": f"{mcp.RUN}{contents.pk}", "mimeType": "text/plain"}
        contents = {**address, "text": "\n\n".join(fold.texts)}
    return {"contents": [contents], **UNCACHED}


METHODS: dict[str, Callable[[Call], Awaitable[Frame]]] = {
    "server/discover": _discover,
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": _tools,
    "tools/call": _call,
    "tasks/get": _task,
    "tasks/update": _update,
    "tasks/cancel": _cancel,
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": _read,
}
