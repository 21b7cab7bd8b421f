"""The runs that a page of the AI SDK resumes once it has loaded the messages of a chat.

It loads and resumes in two requests, and the second is answered 204 if nothing runs, as its client
wants it. A run can end between them: the page would show the unfinished message for ever. So a page
that was sent one is owed its end, and gets the message once more although it is finished.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from django.core.cache import cache

from agui_host.backends import work
from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.errors import NotFound
from agui_host.protocol import patient_json
from agui_host.protocol.wire.fold import Frame
from agui_host.teams.authentication import Principal
from agui_host.teams.limits import refuse_work
from events import journal
from runs.access import access, sight, threads
from runs.lifecycle import turns
from runs.models import Run, Status

LOADING = 60
"""Seconds that a page may take from the one request to the other."""


def page_loaded(run: Run) -> None:
    """A page was sent the message of this run, which had not ended."""
    cache.add(_key(run.pk), 0, LOADING)
    with suppress(ValueError):  # It has expired in this moment.
        cache.incr(_key(run.pk))


def turn(principal: Principal, thread_id: str) -> list[Run]:
    """The runs of the message to replay and follow; none if nothing runs and no page is owed."""
    active = threads.active(principal, thread_id)
    if active:
        _is_owed(active[0].pk)
        return _of(principal, active[0])
    runs = access.visible(principal).filter(thread__thread_id=thread_id, purged_at=None)
    last = runs.order_by("-journal_id").first()
    return _of(principal, last) if last is not None and _is_owed(last.pk) else []


class Again(NamedTuple):
    """Runs whose stream broke, and the fold that their frames come from.

    ``finishes``: whether they do, or can yet, end with ``finish``, for which the client waits.
    ``skip``: how many frames it has. ``tail``: the number of the last frame, if it counts from
    there.
    """

    runs: list[Run]
    fold: Stream
    finishes: bool
    skip: int
    tail: int | None


def of_run(principal: Principal, name: str, start: int) -> Again | None:
    """The run of that id; None if there is none. The fold has been fed what its message held."""
    try:
        run = access.find(principal, UUID(name))
    except (ValueError, NotFound):
        return None
    if run.purged_at is not None:
        return None
    return _again(_of(principal, run), 1, start)


def of_chat(principal: Principal, thread_id: str, start: int) -> Again | None:
    """The newest message of a chat, ended or not; None if there is none."""
    runs = access.visible(principal).filter(thread__thread_id=thread_id, purged_at=None)
    last = runs.order_by("-journal_id").first()
    if last is None:
        return None
    turn = _of(principal, last)
    return _again(turn, len(turn), start)


def _again(turn: list[Run], newest: int, start: int) -> Again:
    """The ``newest`` runs of a turn from the frame ``start`` on, which may count from their end."""
    before, runs = turn[:-newest], turn[-newest:]
    tail, skip = None, start
    if start < 0:
        count = sum(map(len, _frames(_fed(turn[0], before), runs)))
        tail, skip = count - 1, max(0, count + start)
    finishes = runs[-1].status not in (Status.FAILED, Status.CANCELLED)
    return Again(runs, _fed(turn[0], before), finishes, skip, tail)


def _fed(first: Run, runs: list[Run]) -> Stream:
    fold = Stream(str(first.pk))
    for _ in _frames(fold, runs):
        pass
    return fold


def _frames(fold: Stream, runs: list[Run]) -> Iterator[list[Frame]]:
    """The frames of each stored event. The team pays for the work."""
    for run in runs:
        refuse_work(run.team_id)
        size = 0
        for payload in journal.payloads(run.pk):
            size += len(payload)
            yield fold.feed(patient_json.loads(payload))
        work.charge(run.team_id, "fold", size // work.BYTES)


def _of(principal: Principal, run: Run) -> list[Run]:
    return [run] if sight.of(principal, run) else turns.of(run)


def _is_owed(run_id: UUID) -> bool:
    """Whether a page has loaded and not resumed; from now on one page less."""
    try:
        left = cache.decr(_key(run_id))
    except ValueError:
        return False
    if left < 0:
        cache.delete(_key(run_id))
    return left >= 0


def _key(run_id: UUID) -> str:
    return f"unfinished:{run_id}"
