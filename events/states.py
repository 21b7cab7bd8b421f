"""The state of a run as of one of its events, and which events set a place in it.

Only the events of the state are read, in bounded steps and for a bounded time. A request's fold
stays in the memory of its process for a while, so that the next one continues there.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

from agui_host.backends import epochs
from agui_host.protocol.fold.blame import Blame, Change
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.patient_json import loads
from agui_host.protocol.strict_json import dumps_any
from agui_host.protocol.violation import Event
from events.outlines import BUILDING, SECONDS, STEP_BYTES
from events.sealed import reading

Show = Callable[[Event], Event]
TYPES = ["STATE_SNAPSHOT", "STATE_DELTA"]
STEP_EVENTS = 5_000
MOST_CHANGES = 500
CACHED_CHARS = 20_000_000


class StateAt(NamedTuple):
    """``state`` is JSON text; ``at`` is the event up to which this request came."""

    state: str
    at: int


class History(NamedTuple):
    """``through`` is the last event that was searched."""

    changes: list[Change]
    through: int


_folded: OrderedDict[tuple[UUID, int], StateAt] = OrderedDict()
"""By journal and epoch: in another one its events may be others."""
_lock = threading.Lock()


def read(
    journal_id: UUID, seq: int, base: str, *, seconds: float = SECONDS, show: Show | None = None
) -> StateAt:
    """The state after the event ``seq``; ``base`` is that before the first, both as JSON text.

    ``show`` is how the reader sees each event, from the first; without it they see all. Of a log
    that takes longer than so many ``seconds``, ``at`` is where this request ended. The caller
    has checked access.
    """
    start = (_known(journal_id, seq) if show is None else None) or StateAt(base, 0)
    state, at = loads(start.state), start.at
    with _deadline(seconds) as until:
        for reached, event in _events(journal_id, at, seq, until, show):
            at = reached
            if event is not None:
                state = _after(state, event)
    result = StateAt(dumps_any(state), at)
    if show is None:
        _remember(journal_id, result)
    return result


def history(
    journal_id: UUID,
    path: str,
    after: int,
    last: int,
    base: str,
    *,
    seconds: float = SECONDS,
    show: Show | None = None,
) -> History:
    """The events after ``after``, up to ``last``, that set the value at ``path``, in order.

    At most about ``MOST_CHANGES``, and those of so many ``seconds``. ``base`` and ``show`` are as
    for ``read``; the events up to ``after`` must have been shown.
    """
    blame = Blame(path) if after else Blame(path, loads(base))
    changes: list[Change] = []
    reached = after
    with _deadline(seconds) as until:
        for reached, event in _events(journal_id, after, last, until, show):
            if event is not None:
                changes += blame.feed(reached, event)
            if len(changes) >= MOST_CHANGES:
                break
    return History(changes, reached)


def _after(state: Any, event: Event) -> Any:
    if event["type"] == "STATE_SNAPSHOT":
        return event["snapshot"]
    try:
        return apply(state, event["delta"])
    except PatchFailed:
        return state  # as every client does


@contextmanager
def _deadline(seconds: float) -> Iterator[float]:
    """The moment until which to fold; only one event if others of this process are folding."""
    alone = BUILDING.begin()
    try:
        yield time.monotonic() + (seconds if alone is not None else 0)
    finally:
        if alone is not None:
            BUILDING.end(alone)


def _events(
    journal_id: UUID, after: int, last: int, until: float, show: Show | None
) -> Iterator[tuple[int, Event | None]]:
    """The events of the state, at least one step; without an event, how far a step came."""
    while after < last:
        end = min(after + STEP_EVENTS, last)
        rows = reading.rows(journal_id, after, end, STEP_BYTES, TYPES)
        for after, _, payload in rows:
            event = loads(payload)
            yield after, event if show is None else show(event)
            if time.monotonic() > until:
                return
        # ``rows`` leaves out events beyond a step's bytes.
        if sum(len(payload.encode()) for _, _, payload in rows) < STEP_BYTES:
            after = end
            yield after, None
        if time.monotonic() > until:
            return


def _known(journal_id: UUID, seq: int) -> StateAt | None:
    with _lock:
        known = _folded.get((journal_id, epochs.latest))
        return known if known is not None and known.at <= seq else None


def _remember(journal_id: UUID, result: StateAt) -> None:
    with _lock:
        key = journal_id, epochs.latest
        _folded[key] = result
        _folded.move_to_end(key)
        chars = sum(len(each.state) for each in _folded.values())
        while chars > CACHED_CHARS:
            _, oldest = _folded.popitem(last=False)
            chars -= len(oldest.state)
