"""POST /mcp: the Model Context Protocol. Each agent that is marked as one is a tool.

A call is a run, and nothing is remembered between two requests: any web process answers.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects import tasks, waiting
from agui_host.dialects.mcp import rpc
from agui_host.dialects.mcp import stream as mcp_stream
from agui_host.dialects.mcp import verbs as mcp
from agui_host.dialects.mcp.fold import COMPLETE, INPUT_REQUIRED, CallResult, for_handshake
from agui_host.dialects.mcp.rpc import Rpc
from agui_host.errors import MethodNotAllowed, NotFound, Unauthenticated, UnknownMethod
from agui_host.protocol.errors import HostError
from agui_host.protocol.input.fields import wrong
from agui_host.protocol.wire import json_rpc
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer, answer_json, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.scope import Send
from agui_host.web.shares import parsing
from agui_project import cli
from runs.models import Run

INSTRUCTIONS = "Each tool is an agent: tell it what you want. Runs are resources, newest first."
CAPABILITIES: Frame = {"tools": {}, "resources": {}}
CALL = "tools/call"
UNCACHED = {"ttlMs": 0, "cacheScope": "private"}
METADATA = "/.well-known/oauth-protected-resource"
RESOURCE = "/mcp"
PUBLIC = {"cache-control": "public, max-age=3600", "access-control-allow-origin": "*"}


class Call(NamedTuple):
    """A request with the data to answer it."""

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
    read = partial(rpc.read_rpc, headers=request.headers)
    message = await parsing.body(request, principal.team.pk, read)
    try:
        if message.error is not None:
            raise message.error
        if message.id is None:
            await answer(send, 202)
            return
        if message.method not in METHODS:
            raise UnknownMethod
        call = Call(message, request, principal)
        if message.method == CALL and not message.tasks and mcp_stream.accepts(request):
            await _call_streamed(call, send)
            return
        result = _shaped(message, await METHODS[message.method](call))
    except HostError as error:
        answered = error_body(error, message.id)
        status = _status(error, answered, modern=message.modern)
        await answer_json(send, status, answered, error.headers)
        return
    await answer_json(send, 200, {"jsonrpc": "2.0", "id": message.id, "result": result})


def _shaped(message: Rpc, result: Frame) -> Frame:
    """A result in the form that the client's version of MCP has."""
    return {"resultType": COMPLETE, **result} if message.modern else for_handshake(result)


def _status(error: HostError, body: Frame, *, modern: bool) -> int:
    """The status with which clients read the error of JSON-RPC in the body."""
    if error.status in (401, 403):
        return error.status
    if not modern:  # Clients of before 2026 read it only in an answer that is fine.
        return 200
    return 400 if body["error"]["code"] == json_rpc.INVALID_PARAMS else error.status


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
    async with opened(call.principal):
        turn = await _begun(call)
        if call.rpc.tasks:
            return {"resultType": "task", **mcp.task(turn)}
        await waiting.until_end(call.request, call.principal, turn[-1])
        return await _ended(call.principal, turn)


async def _call_streamed(call: Call, send: Send) -> None:
    """The same as a stream, whose headers come with the start."""
    async with opened(call.principal):
        turn = await _begun(call)
        rpc, principal = call.rpc, call.principal

        async def answer() -> Frame:
            return _shaped(rpc, await _ended(principal, turn))

        await mcp_stream.send_answer(call.request, send, principal, rpc, turn[-1], answer)


async def _begun(call: Call) -> list[Run]:
    name, digest = call.text("name"), call.rpc.digest
    if call.params.get("requestState") is not None:
        return await _resumed(call, call.text("requestState"), name)
    arguments = call.params.get("arguments")
    call.params.clear()  # They must not live as long as the call.
    return await db(mcp.begin, call.principal, name, arguments, call.key, digest)


async def _ended(principal: Principal, turn: list[Run]) -> Frame:
    await waiting.reread(principal, turn[-1].pk)
    return await _result(principal, turn)


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
    call.params.clear()
    return await db(mcp.resume, call.principal, task, name, responses, call.key, call.rpc.digest)


async def _cancel(call: Call) -> Frame:
    task = call.text("taskId")
    call.params.clear()
    turn = await db(mcp.cancel, call.principal, task)
    if call.rpc.modern:
        return {}
    await waiting.until_cancelled(call.request, turn[-1])  # Its answer was the cancelled task.
    return mcp.task(await db_read(tasks.find, call.principal, task))


async def _resources(call: Call) -> Frame:
    if call.params.get("cursor") is not None:
        raise wrong("cursor", "left out: there is one page")
    return {"resources": await db_read(mcp.resources, call.principal), **UNCACHED}


async def _templates(call: Call) -> Frame:
    return {"resourceTemplates": mcp.TEMPLATES, **UNCACHED}


async def _prompts(call: Call) -> Frame:
    return {"prompts": [], **UNCACHED}


async def _prompt(call: Call) -> Frame:
    raise NotFound("There is no such prompt.")


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
    CALL: _call,
    "prompts/list": _prompts,
    "prompts/get": _prompt,
    "tasks/get": _task,
    "tasks/update": _update,
    "tasks/cancel": _cancel,
    "resources/list": _resources,
    "resources/templates/list": _templates,
    "resources/read": _read,
}


@endpoint
async def protected_resource(request: Request, send: Send) -> None:
    """How a client of /mcp gets in (RFC 9728): the same for everybody.

    No authorization server is named, as the host takes no access tokens: keys are the credentials.
    """
    if request.scope["method"] != "GET":
        raise MethodNotAllowed(headers={"allow": "GET"})
    metadata = {
        "resource": request.base + RESOURCE,
        "resource_name": "AG-UI run host",
        "bearer_methods_supported": ["header"],
    }
    await answer_json(send, 200, metadata, PUBLIC)


def challenge(request: Request) -> str:
    """The header that answers a request without a credential."""
    return f'Bearer realm="agui", resource_metadata="{request.base}{METADATA}{RESOURCE}"'
