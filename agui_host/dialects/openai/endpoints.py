"""/v1: OpenAI's Responses, Chat Completions and Models, over the runs of a team.

A response is a run, a model is an agent. Errors have OpenAI's shape.
"""

from functools import partial
from typing import Any

from agui_host.backends.epochs import Reset
from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects import resources, waiting
from agui_host.dialects.openai import completions, leaving
from agui_host.dialects.openai import verbs as openai
from agui_host.dialects.openai.chat import without_type
from agui_host.dialects.openai.request import read_chat, read_response, thread_named
from agui_host.dialects.teller import Teller
from agui_host.errors import NotFound
from agui_host.protocol.encoding import encode, text_bytes
from agui_host.protocol.errors import HostError
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.fold import Frame, last_of
from agui_host.teams.authentication import Principal
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer_json
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from agui_host.web.shares import parsing
from runs.models import ENDED, Run

TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    410: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
DONE = b"data: [DONE]\n\n"
FINAL = {"x-should-retry": "false"}
"""OpenAI's clients send a request again that is answered 500, which would start another run."""


def error_body(error: HostError) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    kind = "server_error" if error.status >= 500 else TYPES.get(error.status)
    about: Frame = {
        "message": error.message,
        "type": kind or "invalid_request_error",
        "param": error.details.get("path"),
        "code": error.code,
    }
    if isinstance(error, Reset):
        about["details"] = error.details
    return {"error": about}


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
        streams = body.stream
        del body  # 3 MB of it can take 60 MB, for as long as the run takes
        if streams:
            await _stream_response(request, send, principal, run, -1)
            return
        await waiting.until_end(request, principal, run)
    made = await _response(principal, await waiting.reread(principal, run.pk))
    if made["status"] == "failed":  # Clients take any response that comes with 200 for an answer.
        error = {"type": "server_error", "param": None, **made["error"]}
        headers = {**FINAL, "content-location": f"/v1/responses/{made['id']}"}
        await answer_json(send, 500, {"error": error}, headers)
    else:
        await answer_json(send, 200, made)


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
    await answer_json(send, 200, as_list(await db_read(openai.input_items, principal, run)))


async def complete(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/chat/completions."""
    read = partial(read_chat, named=thread_named(request.headers))
    body = await parsing.body(request, principal.team.pk, read)
    key = request.headers.get("idempotency-key")
    async with opened(principal):
        run = await db(completions.begin, principal, body, key)
        stays, streams, with_usage = body.background, body.stream, body.with_usage
        del body  # as in ``create``
        async with leaving.cancels(principal, run, unless=stays):
            if streams:
                fold = openai.chat(run, with_usage=with_usage)
                view = Teller(fold, _chunk, farewell=DONE)
                await _stream(request, send, principal, run, view, CHUNKS)
                return
            await waiting.until_end(request, principal, run)
    run = await waiting.reread(principal, run.pk)
    made = openai.chat(run)
    await waiting.feed(made, principal, run)
    if made.error:
        await answer_json(send, 500, {"error": made.error}, FINAL)
    else:
        await answer_json(send, 200, made.completion)


async def models(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/models."""
    await answer_json(send, 200, as_list(await db_read(openai.models, principal)))


async def model(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/models/{slug}."""
    for each in await db_read(openai.models, principal):
        if each["id"] == request.kwargs["slug"]:
            await answer_json(send, 200, each)
            return
    raise NotFound("There is no such model.")


async def _response(principal: Principal, run: Run) -> Frame:
    """The response as far as it has come."""
    made = await db_read(openai.fold, run)
    await waiting.feed(made, principal, run)
    return made.response


async def _stream_response(
    request: Request, send: Send, principal: Principal, run: Run, after: int
) -> None:
    view = Teller(await db_read(openai.fold, run), _event, after=after)
    await _stream(request, send, principal, run, view, EVENTS)


async def _stream(
    request: Request, send: Send, principal: Principal, run: Run, view: Teller, wire: sse.Wire
) -> None:
    await stream_run(
        request,
        send,
        principal,
        Logs.of(principal, run),
        view=view,
        headers=[],
        wire=wire,
        corrected=request.scope["method"] == "GET" or run.status in ENDED,
    )


def _event(number: int, frame: Frame) -> bytes:
    data = encode({**frame, "sequence_number": number})
    return b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), data)


def _chunk(number: int, frame: Frame) -> bytes:
    return b"data: %b\n\n" % text_bytes(dumps(without_type(frame)))


def _event_of_reset(error: HostError) -> bytes:
    """OpenAI's event for a stream that fails without its response having failed."""
    about = error_body(error)["error"]
    frame = {name: value for name, value in about.items() if name != "type"}
    return _event(last_of(error.details["head"]), {"type": "error", **frame})


def _chunk_of_reset(error: HostError) -> bytes:
    return _chunk(0, error_body(error)) + DONE


# OpenAI's Python client parses the data of a frame that has only ``retry:``.
EVENTS = sse.WITHOUT_RETRY._replace(reset=_event_of_reset)
CHUNKS = sse.WITHOUT_RETRY._replace(reset=_chunk_of_reset)


def as_list(data: list[Frame], *, has_more: bool = False) -> Frame:
    """A list in OpenAI's shape."""
    first, last = (data[place]["id"] if data else None for place in (0, -1))
    whole = {"object": "list", "data": data, "first_id": first, "last_id": last}
    return {**whole, "has_more": has_more}
