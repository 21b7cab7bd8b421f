"""/v1: OpenAI's Responses, Conversations, Chat Completions and Models, over the runs of a team.

A response is a run, a conversation is a thread, a model is an agent. Errors have OpenAI's shape.
"""

from functools import partial
from typing import Any

from agui_project.errors import NotFound
from backends.postgres.bridge import db, db_read
from protocol.dialects.fold import Frame
from protocol.dialects.openai.chat import without_type
from protocol.dialects.openai.request import read_chat, read_response
from protocol.encoding import encode, text_bytes
from protocol.errors import HostError
from protocol.strict_json import dumps
from runs.access.dialects import openai
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

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
DONE = b"data: [DONE]\n\n"


def error_body(error: HostError) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    kind = "server_error" if error.status >= 500 else TYPES.get(error.status)
    return {
        "error": {
            "message": error.message,
            "type": kind or "invalid_request_error",
            "param": error.details.get("path"),
            "code": error.code,
        }
    }


resource = partial(resources.resource, error_body=error_body)
nowhere = resources.nowhere(error_body)


async def create(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/responses."""
    body = await parsing.body(request, principal.team.pk, read_response)
    key = request.headers.get("idempotency-key")
    if body.background and not body.stream:
        run = await db(openai.begin, principal, body, key)
        await answer_json(send, 200, await _response(principal, run))
        return
    async with opened(principal):
        run = await db(openai.begin, principal, body, key)
        if body.stream:
            await _stream_response(request, send, principal, run, -1)
            return
        await waiting.until_end(request, principal, run)
    await answer_json(
        send, 200, await _response(principal, await waiting.reread(principal, run.pk))
    )


async def retrieve(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/responses/{id}, as it is now or as a stream from ``starting_after``."""
    run = await db(openai.find, principal, request.kwargs["response"])
    if request.query.get("stream") != "true":
        await answer_json(send, 200, await _response(principal, run))
        return
    after = openai.after(run, request.query.get("starting_after"))
    async with opened(principal):
        await _stream_response(request, send, principal, run, after)


async def cancel(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/responses/{id}/cancel; answers with the ended response, if it ends in time."""
    run = await db(openai.cancel, principal, request.kwargs["response"])
    await waiting.until_cancelled(request, run)
    await answer_json(
        send, 200, await _response(principal, await waiting.reread(principal, run.pk))
    )


async def delete(request: Request, send: Send, principal: Principal) -> None:
    """DELETE /v1/responses/{id}."""
    deleted = await db(openai.delete, principal, request.kwargs["response"])
    await answer_json(send, 200, deleted)


async def input_items(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/responses/{id}/input_items."""
    run = await db(openai.find, principal, request.kwargs["response"])
    await answer_json(send, 200, _list(await db_read(openai.input_items, principal, run)))


async def complete(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/chat/completions."""
    body = await parsing.body(request, principal.team.pk, read_chat)
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        run = await db(openai.begin_chat, principal, body, key)
        if body.stream:
            fold = openai.chat(run, with_usage=body.with_usage)
            view = Teller(fold, _chunk, farewell=DONE)
            await _stream(request, send, principal, run, view)
            return
        await waiting.until_end(request, principal, run)
    run = await waiting.reread(principal, run.pk)
    made = openai.chat(run)
    await waiting.feed(made, principal, run)
    if made.error:
        await answer_json(send, 500, {"error": made.error}, {"x-should-retry": "false"})
    else:
        await answer_json(send, 200, made.completion)


async def models(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/models."""
    await answer_json(send, 200, _list(await db_read(openai.models, principal)))


async def model(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/models/{slug}."""
    for each in await db_read(openai.models, principal):
        if each["id"] == request.kwargs["slug"]:
            await answer_json(send, 200, each)
            return
    raise NotFound("There is no such model.")


async def new_conversation(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/conversations."""
    body = await parsing.body(request, principal.team.pk, lambda body: body, empty=b"{}")
    await answer_json(send, 200, await db(openai.new_conversation, principal, body))


async def conversation(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/conversations/{id}."""
    name = request.kwargs["conversation"]
    await answer_json(send, 200, await db_read(openai.conversation, principal, name))


async def _response(principal: Principal, run: Run) -> Frame:
    """The response as far as it has come."""
    made = await db_read(openai.fold, run)
    await waiting.feed(made, principal, run)
    return made.response


async def _stream_response(
    request: Request, send: Send, principal: Principal, run: Run, after: int
) -> None:
    view = Teller(await db_read(openai.fold, run), _event, after=after)
    await _stream(request, send, principal, run, view)


async def _stream(
    request: Request, send: Send, principal: Principal, run: Run, view: Teller
) -> None:
    # OpenAI's Python client parses the data of a frame that has only ``retry:``.
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        view=view,
        headers=[],
        wire=sse.WITHOUT_RETRY,
    )


def _event(number: int, frame: Frame) -> bytes:
    data = encode({**frame, "sequence_number": number})
    return b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), data)


def _chunk(number: int, frame: Frame) -> bytes:
    return b"data: %b\n\n" % text_bytes(dumps(without_type(frame)))


def _list(data: list[Frame]) -> Frame:
    first, last = (data[place]["id"] if data else None for place in (0, -1))
    whole = {"object": "list", "data": data, "first_id": first, "last_id": last}
    return {**whole, "has_more": False}
