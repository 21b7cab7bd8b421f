"""GET /runs/{id}/events: a run in Alpine's dialect, as named lower-case server-sent events."""

import json
from collections.abc import Mapping

import structlog
from django.conf import settings

from agui_project.errors import NotFound
from backends.postgres.bridge import db
from events.frames import Frames
from protocol.dialects.alpine import Alpine, Frame
from protocol.dialects.alpine_schema import EXTENSIONS, SCHEMA_VERSION, problem
from protocol.encoding import encode
from protocol.errors import Invalid
from runs.access import access, cursors
from runs.models import Run
from web import sse
from web.asgi_http import Request, answer, endpoint
from web.consumers import arriving
from web.consumers.opening import opened
from web.consumers.stream import stream_run
from web.scope import Send

log = structlog.get_logger(__name__)


@endpoint
async def alpine(request: Request, send: Send) -> None:
    """Stream a run from the cursor; without one the newest ``ALPINE_AG_UI_BUFFER_SIZE`` events.

    The log is read from its first event in any case: numbers and durations depend on it. 204 for a
    cursor at the end of an ended run, which stops an EventSource.
    """
    if not settings.ALPINE_AG_UI_ENABLED:
        raise NotFound("Alpine's event streams are switched off on this host.")
    wants = negotiated(request.query)
    principal = await arriving.reader(request, again="last-event-id" in request.headers)
    cursor = cursors.from_request(request.headers, request.query)
    run = await db(access.find, principal, request.kwargs["run_id"])
    after, head = cursors.place(run, cursor), run.journal.head
    if run.journal.closed_at and after == head:
        await answer(send, 204)
        return
    late = cursor is None and head > settings.ALPINE_AG_UI_BUFFER_SIZE
    if late:
        after = head - settings.ALPINE_AG_UI_BUFFER_SIZE
    teller = Teller(run, wants, after, late=late)
    headers_out = ((b"x-ag-ui-schema", SCHEMA_VERSION), (b"x-ag-ui-capabilities", ",".join(wants)))
    async with opened(principal):
        await stream_run(
            request,
            send,
            principal,
            [run.pk],
            owner=run.team_id,
            # Never send an empty piece of body: some servers take that for the end.
            view=lambda batch: teller.tell(batch) or sse.HEARTBEAT,
            headers=[(name, value.encode()) for name, value in headers_out],
            stall=settings.ALPINE_AG_UI_STREAM_TIMEOUT,
        )


def negotiated(query: Mapping[str, str]) -> list[str]:
    """The extensions of ``?capabilities=`` that we have, by default all. Raises Invalid.

    ``?schema=`` is the version that a client was written for; there is only one.
    """
    schema = query.get("schema", SCHEMA_VERSION)
    if schema not in (SCHEMA_VERSION, SCHEMA_VERSION.split(".")[0]):
        details = {"path": "schema", "supported": [SCHEMA_VERSION]}
        raise Invalid(f"This host does not know schema {schema}.", details=details)
    requested = query.get("capabilities", ",".join(EXTENSIONS)).split(",")
    return [name for name in EXTENSIONS if name in requested]


class Teller:
    """One reader's fold, fed with the whole log; sends what follows ``after``.

    A ``late`` reader, who has seen nothing before, first gets what is open there.
    """

    def __init__(self, run: Run, wants: list[str], after: int, *, late: bool) -> None:
        self._fold = Alpine(str(run.pk), wants)
        self._after = after
        self._late = late

    def tell(self, batch: Frames) -> bytes:
        """The bytes of a stretch of the log; empty if the reader has seen all of it."""
        sent: list[bytes] = []
        for seq, payload in enumerate(batch.payloads or (), batch.first):
            if seq > self._after and self._late:
                self._late = False
                sent += self._named(self._fold.opening())
            named = self._named(self._fold.feed(json.loads(payload)))
            if seq > self._after:
                # Only the last one carries the id: a reader cut off before it starts again with the
                # first.
                sent += [*named[:-1], b"id: %d\n" % seq, named[-1] if named else b"\n"]
        return b"".join(sent)

    def _named(self, frames: list[Frame]) -> list[bytes]:
        if settings.ALPINE_AG_UI_VALIDATE_EVENTS:
            frames = [frame for frame in frames if self._valid(frame)]
        return [b"event: %b\ndata: %b\n\n" % (f["type"].encode(), encode(f)) for f in frames]

    def _valid(self, frame: Frame) -> bool:
        wrong = problem(frame)
        if wrong is not None:
            log.warning("alpine.invalid_event", run=frame.get("runId"), problem=wrong)
        return wrong is None
