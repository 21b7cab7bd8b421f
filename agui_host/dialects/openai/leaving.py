"""The end of a run whose only reader left: clients of Chat Completions have no other Stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import structlog

from agui_host.backends import bell
from agui_host.backends.postgres.bridge import db
from agui_host.teams.authentication import Principal
from events import announce
from events.hub import hub
from runs.lifecycle import lifecycle
from runs.models import ACTIVE, Run

log = structlog.get_logger(__name__)

PAUSE, LONGEST_PAUSE = 1.0, 3.0
"""Seconds until the first look for readers (a page that reloads is back by then), and between two
later looks while there are readers.
"""
ANSWERED_WITHIN = 1.0
_watching: dict[UUID, asyncio.Task[None]] = {}
"""One for a run, however many of its readers leave."""


@asynccontextmanager
async def cancels(principal: Principal, run: Run, *, unless: bool) -> AsyncIterator[None]:
    """Follow the run in this context: if it has not ended after it, its reader has left.

    It is then cancelled once it has no readers. ``unless``: never.
    """
    try:
        yield
    except BaseException:
        if not unless:
            _watch(principal, run)
        raise
    if not unless and await db(_is_active, run):
        _watch(principal, run)


def _watch(principal: Principal, run: Run) -> None:
    if run.pk not in _watching:
        _watching[run.pk] = asyncio.create_task(_cancel_once_unread(principal, run))


async def _cancel_once_unread(principal: Principal, run: Run) -> None:
    pause = PAUSE
    try:
        while await db(_is_active, run):
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            if not await is_read(run.pk):
                await db(lifecycle.cancel, run, principal)
                return
    except Exception as error:
        log.warning("chat.not_cancelled", run=str(run.pk), error=repr(error))
    finally:
        del _watching[run.pk]


def _is_active(run: Run) -> bool:
    rows = Run.objects.of_one_thread().filter(thread=run.thread_id, pk=run.pk)
    return rows.filter(status__in=ACTIVE).exists()


async def is_read(journal_id: UUID) -> bool:
    """Whether a log has a reader in any web process; yes, if the others cannot be asked."""
    if hub().has_readers(journal_id):
        return True
    topic = announce.audience(journal_id)
    async with hub().listening({topic}) as ring:
        if not await bell.ring([announce.question(journal_id)]):
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWERED_WITHIN):
                await ring.wait()
        return ring.is_set() or hub().has_readers(journal_id)
