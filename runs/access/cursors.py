"""Cursors: a reader's position in a run's log (docs/protocol.md). Never a silent full replay.

And which part of it a reader wants: ``raw=false`` leaves out RAW events and every ``rawEvent``,
``protocol=0.0.43`` translates it for a client of that version.
"""

from collections.abc import Mapping
from uuid import UUID

from agui_host.backends import epochs
from agui_host.backends.epochs import Reset
from agui_host.backends.postgres import scope
from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.ids import ANY_EPOCH, Position, epoch_of
from agui_host.protocol.input import numbers
from agui_host.protocol.schema import PROTOCOL_VERSION
from agui_host.protocol.views import legacy
from agui_host.protocol.views.legacy import Version
from events.journal import Purged
from events.models import Journal
from runs.models import Run

_MOST_SEQ = 10**10 - 1


def from_request(headers: Mapping[str, str], query: Mapping[str, str]) -> Position | None:
    """The cursor a request carries; ``Last-Event-ID`` wins over ``?after=``. Raises BadCursor."""
    value = headers.get("last-event-id")
    if value is None:
        value = query.get("after")
    if value is None:
        return None
    return read(value)


def read(text: str) -> Position:
    """The cursor that a client sends as text. Raises BadCursor.

    ``*-17``: behind event 17 of the log as it is now, for a client that pages by numbers.
    """
    text = text.strip()
    anywhere = numbers.whole(text.removeprefix("*-"), 0, _MOST_SEQ) if text[:2] == "*-" else None
    if anywhere is not None:
        return Position(anywhere, ANY_EPOCH)
    if (position := numbers.position(text, _MOST_SEQ)) is None:
        raise BadCursor("A cursor is the id of an event of this run, or its seq: 0, 1, 2, …")
    return position


def check(cursor: int | None, head: int) -> int:
    """The position to read from; absent means the start. Raises BadCursor beyond the head.

    A reader can only have seen committed events, so no honest cursor is ever beyond the head.
    """
    if cursor is None:
        return 0
    if cursor > head:
        raise BadCursor("The cursor is beyond this run's newest event.", details={"head": head})
    return cursor


def place(run: Run, cursor: int | None) -> Position:
    """The position to read a run's log from. Raises BadCursor, and Purged for purged events.

    Raises Reset if the cursor's event was lost: the log has another one in its place, or none since
    the database began a new epoch.
    """
    head, written = run.journal.head, run.journal.written
    if cursor is not None and _is_lost(cursor, run.journal):
        raise Reset.to(head)
    after = check(cursor, head)
    if run.purged_at is not None and after < head:
        raise Purged.below(head + 1)
    return written.at(after)


def of_no_run(cursor: int) -> None:
    """Raises Reset if the run of a thread's cursor, which is not there, can have been lost."""
    if epochs.has_ended(cursor):
        raise Reset.to(0)


def of_lost_run(run_id: UUID, owner: UUID) -> None:
    """Raises Reset if a run is not there, for a reader of an epoch that has ended.

    Where the run went with the history, no right did.
    """
    scope.reach(owner)
    if not Run.objects.already_found().filter(pk=run_id).exists():
        raise Reset.to(0)


def parameter(run: Run, query: Mapping[str, str], name: str, default: int = 0) -> int:
    """The place in a run's log that a parameter names. Raises as ``place`` does.

    A number means the log as it is now; the id of an event is a Reset once that event was lost.
    """
    value = query.get(name)
    if value is None:
        return default
    if (position := numbers.position(value, _MOST_SEQ)) is None:
        message = f"{name} must be the id of an event, or its seq: 0, 1, 2, …"
        raise BadCursor(message, details={"path": name})
    return place(run, position if "-" in value else Position(position, ANY_EPOCH))


def _is_lost(cursor: int, log: Journal) -> bool:
    if cursor <= log.head:
        return not log.written.has(cursor)
    epoch = epoch_of(cursor) or log.epoch
    return epoch not in (ANY_EPOCH, epochs.latest)


def raw(query: Mapping[str, str]) -> bool:
    """Whether the reader wants RAW and ``rawEvent``, by ``?raw=``. Raises Invalid."""
    value = query.get("raw", "true")
    if value not in ("true", "false"):
        raise Invalid("raw must be true or false.", details={"path": "raw"})
    return value == "true"


def protocol(query: Mapping[str, str], declared: str | None = PROTOCOL_VERSION) -> Version | None:
    """The version of AG-UI 0.x that the reader understands; None for 1.0 and newer.

    ``?protocol=`` sets it, else the input's ``declared`` version. A client that declares none
    speaks 0.x, and is taken for the newest of those. Raises Invalid for a bad ``?protocol=``.
    """
    text = query.get("protocol")
    try:
        if text is not None:
            return legacy.version_of(text)
        return legacy.NEWEST if declared is None else legacy.version_of(declared)
    except ValueError:
        if text is None:
            return None  # A client's declaration never causes a refusal.
        message = "protocol must be a version of AG-UI, such as 0.0.39 or 1.0."
        raise Invalid(message, details={"path": "protocol"}) from None
