"""POST /api/v1/runs/{id}/messages: send a message to an active run.

This is a consumer because its agent waits: a third of the time went to Django's middleware.
"""

from typing import Any
from uuid import UUID

from agui_host.backends.postgres.bridge import db
from agui_host.errors import UnsupportedMediaType
from agui_host.protocol import strict_json
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer_json, endpoint
from agui_host.web.consumers.agui import authenticate
from agui_host.web.scope import Send
from runs.access import comments
from runs.api.steering.messages import SaySerializer


@endpoint
async def say(request: Request, send: Send) -> None:
    """202 with the message's number; its agent reads it from ``ctx.inbox``."""
    principal = await authenticate(request)
    media_type, _, _ = request.headers.get("content-type", "").partition(";")
    if media_type.strip().lower() != "application/json":
        raise UnsupportedMediaType
    message = strict_json.loads(await request.body())
    seq = await db(send_message, principal, request.kwargs["run_id"], message)
    await answer_json(send, 202, {"seq": seq})


def send_message(principal: Principal, run_id: UUID, message: Any) -> int:
    """The number of a message, as its sender wrote it. Raises UnknownMember, ValidationError."""
    data = SaySerializer.read_data(message)
    return comments.say(principal, run_id, data["id"], data["content"])
