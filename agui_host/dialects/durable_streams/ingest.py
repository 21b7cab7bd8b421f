"""POST /api/v1/runs/{id}/stream: a producer feeds a run that is executed elsewhere."""

import asyncio
from typing import Any

from agui_host.backends import work
from agui_host.backends.postgres.bridge import db
from agui_host.dialects.durable_streams import wire
from agui_host.errors import UnsupportedMediaType
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.numbers import whole
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from agui_host.web.asgi_http import Request, answer
from agui_host.web.consumers import arriving
from agui_host.web.scope import Send
from runs.access import access
from runs.lifecycle.ingest import batches
from runs.lifecycle.ingest.batches import EMPTY, Fed
from runs.lifecycle.ingest.producers import EPOCH, ID, LONGEST_ID, MOST, SEQ, Place


async def ingest(request: Request, send: Send) -> None:
    """Append a batch: 200, or 204 for a batch that was stored before; with its place in headers."""
    principal = await arriving.caller(request)
    arriving.refuse_foreign_page(principal, request, json_body=True)
    place, closes = _place(request), request.headers.get(wire.CLOSED, "").lower() == wire.TRUE
    fed = await db(_feed, principal, request, place, await request.body(), closes=closes)
    headers = {
        **fed.place.headers,
        wire.NEXT_OFFSET: wire.offset(fed.head),
        **({wire.CLOSED: wire.TRUE} if fed.closed else {}),
    }
    if fed.wait:
        # A producer that waits for its answers is slowed down to its team's pace.
        request.release()
        await asyncio.sleep(fed.wait)
    await answer(send, 200 if fed.new and place is not None else 204, headers=headers)


def _feed(
    principal: Principal, request: Request, place: Place | None, body: bytes, *, closes: bool
) -> Fed:
    run = access.find_to_feed(principal, request.kwargs["run_id"])
    events: list[Any] = []
    if body.strip():
        refuse_work(run.team_id)
        work.charge(run.team_id, "parse", work.of_json(body))
        events = _events(request, body, closes)
    if place is None and (events or not closes):
        raise BadRequest(
            "Send Producer-Id, Producer-Epoch and Producer-Seq, so that a batch that is sent twice "
            "is stored once."
        )
    return batches.take(run, place, events, closes=closes)


def _place(request: Request) -> Place | None:
    """The batch's place; None without any of the three headers. Raises BadRequest."""
    headers = request.headers
    if not any(name in headers for name in (ID, EPOCH, SEQ)):
        return None
    producer = headers.get(ID, "")
    if not 0 < len(producer) <= LONGEST_ID or not producer.isprintable():
        raise BadRequest(
            f"Producer-Id must have 1 to {LONGEST_ID} printable characters.", details={"path": ID}
        )
    return Place(producer, _number(headers.get(EPOCH), EPOCH), _number(headers.get(SEQ), SEQ))


def _number(text: str | None, name: str) -> int:
    if text is None or (number := whole(text, 0, MOST)) is None:
        raise BadRequest(f"{name.title()} must be a whole number.", details={"path": name})
    return number


def _events(request: Request, body: bytes, closes: bool) -> list[Any]:
    """The events of a batch: an array of them, or one. Raises BadJson, BadRequest."""
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType
    value = strict_json.loads(body, any_text=True)
    events = value if isinstance(value, list) else [value]
    if not events and not closes:
        raise BadRequest(EMPTY)
    return events
