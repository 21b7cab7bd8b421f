"""/v1/conversations: OpenAI's conversations and their items, over the threads of a team."""

from typing import Any

from agui_host.backends.postgres.bridge import db, db_read
from agui_host.dialects.openai import conversations
from agui_host.dialects.openai.endpoints import as_list
from agui_host.dialects.openai.request import read_items, read_metadata
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer_json
from agui_host.web.scope import Send
from agui_host.web.shares import parsing

Json = dict[str, Any]


def _read(body: Any) -> tuple[list[Json], Json]:
    """The items and the metadata of a body. Raises BadRequest or Invalid."""
    if body is None:
        return [], {}
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object.")
    messages = conversations.with_ids(read_items(body.get("items")))
    return messages, read_metadata(body.get("metadata"))


async def _body(request: Request, principal: Principal) -> tuple[list[Json], Json]:
    return await parsing.body(request, principal.team.pk, _read, empty=b"{}")


def _name(request: Request) -> str:
    return str(request.kwargs["conversation"])


async def create(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/conversations."""
    messages, metadata = await _body(request, principal)
    made = await db(conversations.create, principal, messages, metadata)
    await answer_json(send, 200, made)


async def retrieve(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/conversations/{id}."""
    await answer_json(send, 200, await db_read(conversations.find, principal, _name(request)))


async def update(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/conversations/{id}: other metadata."""
    _, metadata = await _body(request, principal)
    changed = await db(conversations.update, principal, _name(request), metadata)
    await answer_json(send, 200, changed)


async def delete(request: Request, send: Send, principal: Principal) -> None:
    """DELETE /v1/conversations/{id}."""
    await answer_json(send, 200, await db(conversations.delete, principal, _name(request)))


async def items(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/conversations/{id}/items."""
    # Reading can store the fold of runs that have ended.
    page, more = await db(conversations.listed, principal, _name(request), request.query)
    await answer_json(send, 200, as_list(page, has_more=more))


async def add(request: Request, send: Send, principal: Principal) -> None:
    """POST /v1/conversations/{id}/items."""
    messages, _ = await _body(request, principal)
    added: list[Frame] = await db(conversations.add, principal, _name(request), messages)
    await answer_json(send, 200, as_list(added))


async def item(request: Request, send: Send, principal: Principal) -> None:
    """GET /v1/conversations/{id}/items/{item}."""
    name = request.kwargs["item"]
    one = await db(conversations.item, principal, _name(request), name)
    await answer_json(send, 200, one)


async def remove(request: Request, send: Send, principal: Principal) -> None:
    """DELETE /v1/conversations/{id}/items/{item}."""
    name = request.kwargs["item"]
    left = await db(conversations.remove, principal, _name(request), name)
    await answer_json(send, 200, left)
