"""Sealing: logs of runs that ended long ago move to the file store, team by team (ADR 0012).

Runs, outlines, words and conversations stay in rows; only the events move. An object has logs of
one team, those of a thread next to each other, because a run repeats the messages before it.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor
from agui_host.teams.models import Team
from events.models import Journal
from events.sealed import sealing, sweeping
from events.sealed.form import Unfit
from runs.lifecycle import history
from runs.lifecycle.deletion.retention import IS_SEALED
from runs.models import Run, ThreadHistory

log = structlog.get_logger(__name__)

LOGS, BYTES = 1_000, 64_000_000
"""Logs of one object, and about their bytes; a larger log has an object for itself."""
NIL = UUID(int=0)
REST = 2.0
"""Seconds of rest for each second of sealing: live runs share the processor."""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Delete erased logs, then seal, for about ``seconds``; how many logs were sealed.

    The next call continues. Returns early when ``leaving`` is true.
    """
    until = time.monotonic() + seconds

    def is_over() -> bool:
        return leaving() or time.monotonic() >= until

    failed = set[UUID]()
    while not is_over() and sweeping.sweep(failed):
        pass
    if not settings.AGUI_SEAL_AFTER_DAYS:
        return 0
    before = clock.now() - timedelta(days=settings.AGUI_SEAL_AFTER_DAYS)
    return sum(_seal_team(team, before, is_over) for team in Team.objects.order_by("pk"))


def _seal_team(team: Team, before: datetime, is_over: Callable[[], bool]) -> int:
    """Seal the logs of a team that ended before that time, the oldest first."""
    total, after = 0, NIL
    while not is_over():
        began = time.monotonic()
        runs = _next(team, before, after)
        if not runs:
            break
        after = runs[-1].pk
        try:
            if (journals := _journals(runs)) and (sealed := sealing.seal(team.pk, journals)):
                log.info("seals.sealed", team=team.slug, logs=sealed)
                total += sealed
        except (OSError, Unfit) as error:
            log.error("seals.not_sealed", team=team.slug, first=str(runs[0].pk), error=repr(error))
            if isinstance(error, OSError):
                break  # The store is away: try again with the next call.
        time.sleep(REST * min(1.0, time.monotonic() - began))
    return total


def _next(team: Team, before: datetime, after: UUID) -> list[Run]:
    """The next logs of a team that have room in one object, in the order of their ids."""
    over = Run.objects.for_team(team).filter(
        ~IS_SEALED,
        purged_at=None,
        ended_at__lt=before,
        journal__closed_at__isnull=False,
        journal__bytes__gt=0,
        pk__gt=after,
        pk__lt=uuid7_floor(before.timestamp()),
    )
    runs, size = list[Run](), 0
    rows = over.select_related("journal").defer("input", "context", "result")
    for run in rows.order_by("pk")[:LOGS]:
        size += run.journal.bytes
        if runs and size > BYTES:
            break
        runs.append(run)
    return runs


def _journals(runs: list[Run]) -> list[Journal]:
    """The logs of those runs that no conversation still needs; threads stay together."""
    threads = {run.thread_id for run in runs}
    through = _through(threads)
    for run in runs:
        if run.pk > through.get(run.thread_id, NIL):
            history.current(run.thread_id)
    through = _through(threads)
    ready = [run for run in runs if run.pk <= through.get(run.thread_id, NIL)]
    return [run.journal for run in sorted(ready, key=lambda run: (run.thread_id, run.pk))]


def _through(threads: set[UUID]) -> dict[UUID, UUID]:
    """The last run of each thread that its stored conversation contains."""
    rows = ThreadHistory.objects.filter(thread_id__in=threads)
    return dict(rows.values_list("thread_id", "through"))
