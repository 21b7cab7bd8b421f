"""POST /api/v1/runs?wait=30: start a run and answer with its end, if it comes in time.

This is a consumer because a DRF view would hold a thread while it waits.
"""

import asyncio
from contextlib import aclosing
from uuid import UUID

from rest_framework.renderers import JSONRenderer

from agui_host.backends.postgres.bridge import db
from agui_host.protocol import strict_json
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.numbers import whole
from agui_host.teams import authentication
from agui_host.teams.authentication import Principal
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers.agui import authenticate
from agui_host.web.scope import Send
from events.follow import follow
from runs.access import access, start
from runs.api.serializers import RunSerializer
from runs.models import ENDED

LONGEST = 60


@endpoint
async def start_and_wait(request: Request, send: Send) -> None:
    """200 with the ended run, or 202 with the unfinished run after ``wait`` seconds."""
    seconds = _seconds(request.query["wait"])
    principal = await authenticate(request)
    data = await request.body()
    key = request.headers.get("idempotency-key")
    started = await db(lambda: start.start_from_api(principal, strict_json.loads(data), key=key))
    request.release()
    try:
        async with asyncio.timeout(seconds), aclosing(follow(started.run.pk)) as frames:
            async for _ in frames:
                pass
    except TimeoutError:
        pass
    status, body = await db(_render, principal, started.run.pk)
    await answer(send, status, body, {"content-type": "application/json"})


def _render(principal: Principal, run_id: UUID) -> tuple[int, bytes]:
    run = access.find(authentication.current(principal), run_id)
    body = JSONRenderer().render(RunSerializer(run).data)
    return (200 if run.status in ENDED else 202), body


def _seconds(value: str) -> int:
    if (seconds := whole(value, 0, LONGEST)) is None:
        raise Invalid(f"wait must be 0 to {LONGEST} seconds.", details={"path": "wait"})
    return seconds
