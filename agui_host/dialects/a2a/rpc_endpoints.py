"""POST /a2a, /a2a/{slug}: A2A over JSON-RPC, in the words of 1.0 and of 0.3."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects import resources
from agui_host.dialects.a2a import endpoints as a2a
from agui_host.dialects.a2a import older, rpc
from agui_host.dialects.a2a import push_verbs as a2a_push
from agui_host.dialects.a2a.endpoints import Form, VersionNotSupported
from agui_host.dialects.a2a.push import PushConfig
from agui_host.dialects.a2a.rpc import Rpc
from agui_host.errors import UnknownMethod
from agui_host.protocol.errors import HostError
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer_json
from agui_host.web.scope import Send
from agui_host.web.shares import parsing

VERSIONS = ("1.", "0.3")
STATUSES = (401, 403, 429, 503)
"""Statuses that clients and proxies read before the body; any other error comes with 200."""


class Call(NamedTuple):
    """A request with the data to answer it."""

    rpc: Rpc
    request: Request
    principal: Principal

    @property
    def slug(self) -> str | None:
        """The agent that the address names."""
        return a2a.agent_of(self.request)

    @property
    def push(self) -> tuple[str, str]:
        """The task and the name of a push notification config."""
        if self.rpc.older:
            return self.rpc.text("id"), self.rpc.text("pushNotificationConfigId")
        return self.rpc.text("taskId"), self.rpc.text("id")

    def task(self, task: Frame) -> Frame:
        """A task in the words of the client's version."""
        return older.task(task) if self.rpc.older else task

    def config(self, config: Frame) -> Frame:
        """A push notification config in the words of the client's version."""
        return older.config(config) if self.rpc.older else config


def error_body(key: int | str | None, error: HostError) -> Frame:
    """An error in JSON-RPC's shape, with the details that it has over HTTP and JSON."""
    about = a2a.error_body(error)["error"]["details"]
    return {"jsonrpc": "2.0", "id": key, "error": rpc.error_of(error, about)}


async def call(request: Request, send: Send, principal: Principal) -> None:
    """Answer one request; a method that streams answers with an event stream."""
    message = await parsing.body(request, principal.team.pk, rpc.read_rpc)
    key = message.id
    try:
        if message.error is not None:
            raise message.error
        if not request.headers.get("a2a-version", VERSIONS[0]).startswith(VERSIONS):
            raise VersionNotSupported
        form = Form(partial(_framed, key, message.older), partial(error_body, key))
        if message.method == rpc.STREAM:
            await a2a.stream_sent(request, send, principal, message.take_message(), form)
            return
        if message.method == rpc.SUBSCRIBE:
            await a2a.stream_task(request, send, principal, message.take_text("id"), form)
            return
        if message.method not in METHODS:
            raise UnknownMethod
        result = await METHODS[message.method](Call(message, request, principal))
    except HostError as error:
        status = error.status if error.status in STATUSES else 200
        await answer_json(send, status, error_body(key, error), error.headers)
        return
    await answer_json(send, 200, {"jsonrpc": "2.0", "id": key, "result": result})


def _framed(key: int | str | None, is_older: bool, frame: Frame) -> Frame:
    result = older.stream_response(frame) if is_older else frame
    return {"jsonrpc": "2.0", "id": key, "result": result}


resource = partial(resources.resource, error_body=partial(error_body, None))


async def _send(call: Call) -> Frame:
    task = await a2a.answer_message(call.request, call.principal, call.rpc.take_message())
    return call.task(task) if call.rpc.older else {"task": task}


async def _get(call: Call) -> Frame:
    query = call.rpc.query
    return call.task(await a2a.one(call.request, call.principal, call.rpc.text("id"), query))


async def _cancel(call: Call) -> Frame:
    return call.task(await a2a.cancelled(call.request, call.principal, call.rpc.take_text("id")))


async def _list(call: Call) -> Frame:
    return await a2a.page_of(call.request, call.principal, call.rpc.query)


async def _set_push(call: Call) -> Frame:
    task_id, config = call.rpc.text("taskId"), call.rpc.config or PushConfig("", "")
    made, task = await db(a2a_push.put, call.principal, call.slug, task_id, config)
    return call.config(made.wire(str(task)))


async def _get_push(call: Call) -> Frame:
    config, task = await db_read(a2a_push.find, call.principal, call.slug, *call.push)
    return call.config(config.wire(str(task)))


async def _list_push(call: Call) -> Any:
    query, task_id = call.rpc.query, call.rpc.text("id" if call.rpc.older else "taskId")
    configs, task, following = await db_read(
        a2a_push.of_task, call.principal, call.slug, task_id, query
    )
    rows = [call.config(config.wire(str(task))) for config in configs]
    return rows if call.rpc.older else {"configs": rows, "nextPageToken": following}


async def _delete_push(call: Call) -> Any:
    await db(a2a_push.remove, call.principal, call.slug, *call.push)
    return None if call.rpc.older else {}


METHODS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    rpc.SEND: _send,
    rpc.GET: _get,
    rpc.LIST: _list,
    rpc.CANCEL: _cancel,
    rpc.SET_PUSH: _set_push,
    rpc.GET_PUSH: _get_push,
    rpc.LIST_PUSH: _list_push,
    rpc.DELETE_PUSH: _delete_push,
}
