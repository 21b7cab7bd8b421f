"""The runs that a page of the AI SDK resumes once it has loaded the messages of a chat.

It loads and resumes in two requests, and the second is answered 204 if nothing runs, as its client
wants it. A run can end between them: the page would show the unfinished message for ever. So a page
that was sent one is owed its end, and gets the message once more although it is finished.
"""

import json
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from django.core.cache import cache

from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.errors import NotFound
from agui_host.teams.authentication import Principal
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
    """A run whose stream broke, and the fold that its frames come from.

    ``finishes``: whether they do, or can yet, end with ``finish``, for which its client waits.
    """

    run: Run
    fold: Stream
    finishes: bool


def of_run(principal: Principal, name: str) -> Again | None:
    """The run of that id; None if there is none. The fold has been fed what its message held."""
    try:
        run = access.find(principal, UUID(name))
    except (ValueError, NotFound):
        return None
    if run.purged_at is not None:
        return None
    turn = _of(principal, run)
    fold = Stream(str(turn[0].pk))
    for before in turn[:-1]:
        for payload in journal.payloads(before.pk):
            fold.feed(json.loads(payload))
    return Again(run, fold, run.status not in (Status.FAILED, Status.CANCELLED))


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
