"""GET /runs/{id}/events: a run in Alpine's dialect, as named lower-case server-sent events."""

import secrets
from collections.abc import Mapping

import structlog
from django.conf import settings

from agui_host.dialects.alpine.fold import Alpine, Frame
from agui_host.dialects.alpine.schema import EXTENSIONS, SCHEMA_VERSION, problem
from agui_host.dialects.teller import together
from agui_host.errors import NotFound
from agui_host.protocol.encoding import encode
from agui_host.protocol.errors import HostError, Invalid
from agui_host.protocol.wire.deltas import Part, Template
from agui_host.web import sse
from agui_host.web.asgi_http import Request, answer, endpoint
from agui_host.web.consumers import arriving
from agui_host.web.consumers.opening import opened
from agui_host.web.consumers.stream import Logs, stream_run
from agui_host.web.scope import Send
from events.frames import Frames
from runs.models import Run

log = structlog.get_logger(__name__)
_TIME = secrets.token_hex(16).encode()
"""The placeholder of the time in a template; it comes before all of an agent's text."""
_NO_STAMP = b"\0"
"""The end of no event: the next delta's time has to be read."""


@endpoint
async def alpine(request: Request, send: Send) -> None:
    """Stream a run from the cursor; without one the newest ``ALPINE_AG_UI_BUFFER_SIZE`` events.

    The log is read from its first event in any case: numbers and durations depend on it. 204 for a
    cursor at the end of an ended run, which stops an EventSource.
    """
    if not settings.ALPINE_AG_UI_ENABLED:
        raise NotFound("Alpine's event streams are switched off on this host.")
    wants = negotiated(request.query)
    arrival = await arriving.at_run(request)
    principal, run, after, returns = arrival
    if arrival.has_all:
        await answer(send, 204)
        return
    late = not returns and run.journal.head > settings.ALPINE_AG_UI_BUFFER_SIZE
    if late:
        after = run.journal.head - settings.ALPINE_AG_UI_BUFFER_SIZE
    teller = Teller(run, wants, after, late=late)
    headers_out = ((b"x-ag-ui-schema", SCHEMA_VERSION), (b"x-ag-ui-capabilities", ",".join(wants)))
    async with opened(principal):
        await stream_run(
            request,
            send,
            principal,
            Logs.of(principal, run),
            # Never send an empty piece of body: some servers take that for the end.
            view=lambda batch: teller.tell(batch) or sse.HEARTBEAT,
            headers=[(name, value.encode()) for name, value in headers_out],
            stall=settings.ALPINE_AG_UI_STREAM_TIMEOUT,
            wire=sse.EVENTS._replace(reset=teller.refusal),
            corrected=True,
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


class _Template(Template):
    """The frame of a part's deltas with gaps for its number and its time."""

    def __init__(self, part: Part) -> None:
        super().__init__(part, lambda _, frame: _bytes_of(frame))
        head, tail = self._format.split(_TIME, 1)
        self._timed = head + b"%b" + tail

    def form(self, numbering: bytes) -> bytes:
        """The format of a frame, of the number of its event, its time and its delta's JSON."""
        return b"id: %b\n" % numbering + self._timed


class Teller:
    """One reader's fold, fed with the whole log; sends the frames after ``after``.

    A ``late`` reader, without any earlier frames, first gets the parts that are open there.
    """

    def __init__(self, run: Run, wants: list[str], after: int, *, late: bool) -> None:
        self._fold = Alpine(str(run.pk), wants)
        self._after = after
        self._late = late
        self._templates: dict[bytes, _Template] = {}
        self._stamp, self._time = _NO_STAMP, b""

    def tell(self, batch: Frames) -> bytes:
        """The bytes of a stretch of the log; empty if the reader has seen all of it."""
        pieces: list[bytes] = []
        place, end = 0, len(batch.payloads or ())
        while place < end:
            seq = batch.first + place
            is_new = seq > self._after
            if is_new and self._late:
                self._late = False
                pieces += self._named(self._fold.opening())
            delta = batch.deltas[place]
            template = self._templates.get(delta[0]) if delta else None
            if template is not None:
                known = None if is_new else self._after + 1 - batch.first
                deltas = together(batch.deltas, place, known)
                frames = self._timed(batch, place, deltas, template)
                place += len(deltas)
                if is_new:
                    pieces += frames
                continue
            named = self._fed(batch, place)
            place += 1
            if is_new:
                # Only the last one carries the id: a reader cut off before it starts again with the
                # first.
                id_ = b"id: %b\n" % (batch.numbering % seq)
                pieces += [*named[:-1], id_, *named[-1:]]
        return b"".join(pieces)

    def _timed(
        self, batch: Frames, place: int, deltas: list[bytes], template: _Template
    ) -> list[bytes]:
        """The frames of consecutive deltas of one part, each with the time of its event."""
        template.add(deltas)
        form = template.form(batch.numbering)
        payloads = (batch.payloads or ())[place : place + len(deltas)]
        pieces = []
        for seq, (payload, delta) in enumerate(
            zip(payloads, deltas, strict=True), batch.first + place
        ):
            if not payload.endswith(self._stamp):  # Many deltas come in the same millisecond.
                self._stamp = payload[payload.rindex(b":") :]
                self._fold.move_to(int(self._stamp[1:-1]))
                self._time = self._fold.time.encode()
            pieces.append(form % (seq, self._time, delta))
        return pieces

    def refusal(self, error: HostError) -> bytes:
        """The bytes that end a stream which the host cannot continue."""
        return _bytes_of(self._fold.refusal(error))

    def _fed(self, batch: Frames, place: int) -> list[bytes]:
        event, delta = batch.event(place), batch.deltas[place]
        frames = self._fold.feed(event)
        named = self._named(frames)
        self._stamp = _NO_STAMP
        if delta is None:
            self._templates.clear()
        elif named:
            self._templates[delta[0]] = _Template(
                self._fold.timeless(event, frames[0], _TIME.decode())
            )
        return named

    def _named(self, frames: list[Frame]) -> list[bytes]:
        if settings.ALPINE_AG_UI_VALIDATE_EVENTS:
            frames = [frame for frame in frames if self._valid(frame)]
        return [_bytes_of(frame) for frame in frames]

    def _valid(self, frame: Frame) -> bool:
        wrong = problem(frame)
        if wrong is not None:
            log.warning("alpine.invalid_event", run=frame.get("runId"), problem=wrong)
        return wrong is None


def _bytes_of(frame: Frame) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (frame["type"].encode(), encode(frame))
