"""Cursors: a reader's position in a run's log (DESIGN section 6). Never a silent full replay.

And which part of it a reader wants: ``raw=false`` leaves out RAW events and every ``rawEvent``,
``protocol=0.0.43`` translates it for a client of that version.
"""

from collections.abc import Mapping

from agui_project.errors import BadCursor
from backends import epochs
from backends.epochs import Reset
from events.journal import Purged
from protocol.errors import Invalid
from protocol.input.numbers import whole
from protocol.schema import PROTOCOL_VERSION
from protocol.views import legacy
from protocol.views.legacy import Version
from runs.models import Run

_MOST_SEQ = 10**10 - 1


def from_request(headers: Mapping[str, str], query: Mapping[str, str]) -> int | None:
    """The cursor a request carries; ``Last-Event-ID`` wins over ``?after=``. Raises BadCursor."""
    value = headers.get("last-event-id")
    if value is None:
        value = query.get("after")
    if value is None:
        return None
    if (seq := whole(value.strip(), 0, _MOST_SEQ)) is None:
        raise BadCursor("A cursor is the seq of an event of this run: 0, 1, 2, …")
    return seq


def check(cursor: int | None, head: int) -> int:
    """The position to read from; absent means the start. Raises BadCursor beyond the head.

    A reader can only have seen committed events, so no honest cursor is ever beyond the head.
    """
    if cursor is None:
        return 0
    if cursor > head:
        raise BadCursor("The cursor is beyond this run's newest event.", details={"head": head})
    return cursor


def place(run: Run, cursor: int | None) -> int:
    """The position to read a run's log from. Raises BadCursor, and Purged for purged events.

    Raises Reset beyond the head if the database's epoch is newer than the run.
    """
    if cursor is not None and cursor > run.journal.head and run.journal.epoch < epochs.latest:
        raise Reset.to(run.journal.head)
    after, head = check(cursor, run.journal.head), run.journal.head
    if run.purged_at is not None and after < head:
        raise Purged.below(head + 1)
    return after


def raw(query: Mapping[str, str]) -> bool:
    """Whether the reader wants RAW and ``rawEvent``, as ``?raw=`` says. Raises Invalid."""
    value = query.get("raw", "true")
    if value not in ("true", "false"):
        raise Invalid("raw must be true or false.", details={"path": "raw"})
    return value == "true"


def protocol(query: Mapping[str, str], declared: str | None = PROTOCOL_VERSION) -> Version | None:
    """The version of AG-UI 0.x that the reader understands; None for 1.0 and newer.

    ``?protocol=`` says it, else the input's ``declared`` version. A client that declares none
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
