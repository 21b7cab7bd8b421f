"""Retention: data older than its team's limit is purged, in small steps, while runs are live.

First runs become tombstones (who, when, how it ended) and their logs are doomed: from then on
readers get Purged. Then months in which nothing is left are dropped whole, and doomed rows of other
months are swept.

A thread's conversation, the stored fold of its runs, goes with its newest run: until then the
thread continues as before, though the logs of its old runs are gone.
"""

import time
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain, islice, takewhile
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict
from agui_host.frameworks import checkpoints
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.ids import uuid7_floor
from agui_host.teams.limits import limits_of
from agui_host.teams.models import Team
from events import partitions, purge
from events.models import SealedPart
from runs.lifecycle import admission, feed, history
from runs.lifecycle.files import references
from runs.lifecycle.insight import storing as insight
from runs.lifecycle.pieces.storing import drop_unused
from runs.lifecycle.words import storing
from runs.models import (
    Comment,
    DataSetRun,
    Effect,
    Failure,
    Feedback,
    ImportedRun,
    Interrupt,
    Recovery,
    Run,
    RunLabel,
    RunMessage,
    Thread,
    ThreadHistory,
)

log = structlog.get_logger(__name__)
Content = (
    Interrupt | Comment | Feedback | Failure | ImportedRun | Effect | Recovery | RunMessage
    | RunLabel | DataSetRun
)  # fmt: skip

REST = 2.0
"""Seconds of rest for each second of sweeping."""
IS_SEALED = Exists(SealedPart.objects.filter(journal_id=OuterRef("pk")))
THREADS = 200
"""How many threads of a team are purged in one transaction, and read at once."""
RUNS = 1_000
"""How many runs one transaction purges, unless a single thread has more."""
LONGEST_REST = 1.0
"""Seconds of rest after a transaction, which itself takes a part of that: appends come first."""


def run_once(seconds: float = 3000.0) -> None:
    """Purge expired runs, for about ``seconds`` at most; the next call continues."""
    until = time.monotonic() + seconds
    for team in Team.objects.filter(legal_hold=False).order_by("pk"):
        if days := limits_of(team).retention_days:
            before = clock.now() - timedelta(days=days)
            _expire(team, before, until)
            _expire_items(team, before, until)
    drop_months()
    while time.monotonic() < until and feed.sweep():
        pass
    sweep(until)


def sweep(until: float) -> int:
    """Delete rows of doomed logs until ``time.monotonic()`` is ``until``; returns how many.

    It pauses longer than it works: readers and writers come first (benchmarks/purge.py).
    """
    total = 0
    while (began := time.monotonic()) < until:
        gone = purge.sweep()
        if gone is None:
            break
        total += gone
        time.sleep(REST * (time.monotonic() - began))
    return total


def drop_months() -> list[str]:
    """Drop the months that are over and of which no run is retained in rows; their names."""
    gone = []
    for month in partitions.past():
        retained = Run.objects.of_any_team().filter(
            pk__gte=month.low, pk__lt=month.high, purged_at=None
        )
        in_rows = retained.filter(~IS_SEALED)
        if not in_rows.exists() and purge.drop(month):
            log.info("partitions.dropped", name=month.name)
            gone.append(month.name)
    return gone


def _expire(team: Team, before: datetime, until: float) -> None:
    """Purge the runs of a team that ended before that time, thread by thread."""
    expired = _expired_threads(team, before)
    while left := list(islice(expired, THREADS)):
        while left and time.monotonic() < until:
            began = time.monotonic()
            if not (whole := purge_whole(team, left, before)):
                break
            log.info(
                "retention.purged", team=team.slug, threads=len(whole), runs=sum(whole.values())
            )
            left = [thread_id for thread_id in left if thread_id not in whole]
            time.sleep(min(LONGEST_REST, time.monotonic() - began))
        if time.monotonic() >= until:
            return
        for thread_id in left:
            if time.monotonic() >= until:
                return
            if count := purge_thread(thread_id, before):
                log.info("retention.purged", team=team.slug, thread=str(thread_id), runs=count)


def purge_whole(team: Team, thread_ids: Collection[UUID], before: datetime) -> dict[UUID, int]:
    """Purge those threads of which every run ended before that time; how many runs of each.

    Nothing of such a conversation is kept, so it is not folded first. Locked threads, and threads
    with later runs, are left, and so is the rest after ``RUNS`` runs.
    """
    with transaction.atomic():
        rows = Thread.objects.for_team(team).filter(legal_hold=False, team__legal_hold=False)
        free = rows.select_for_update(skip_locked=True, no_key=True, of=("self",))
        locked = list(free.filter(pk__in=thread_ids).order_by("pk").values_list("pk", flat=True))
        # In a statement after the lock, which sees all runs that were started before.
        runs = Run.objects.for_team(team).filter(thread__in=locked)
        over: dict[UUID, list[UUID]] = {}
        last: dict[UUID, UUID] = {}
        stay = set[UUID]()
        columns = "pk", "thread_id", "ended_at", "purged_at"
        for run_id, thread_id, ended_at, purged_at in runs.order_by("pk").values_list(*columns):
            last[thread_id] = run_id
            if ended_at is None or (purged_at is None and ended_at >= before):
                stay.add(thread_id)
            elif purged_at is None:
                over.setdefault(thread_id, []).append(run_id)
        ended = {key: run_ids for key, run_ids in over.items() if key not in stay}
        whole = {key: ended[key] for key in within(RUNS, {key: len(ended[key]) for key in ended})}
        if whole:
            history.emptied({thread_id: last[thread_id] for thread_id in whole})
            names = Thread.objects.for_team(team).filter(pk__in=whole)
            checkpoints.forget(str(team.pk), *names.values_list("thread_id", flat=True))
            _entomb(team.pk, sorted(chain.from_iterable(whole.values())))
    return {thread_id: len(run_ids) for thread_id, run_ids in whole.items()}


def _expired_threads(team: Team, before: datetime) -> Iterator[UUID]:
    """Each thread once, in the order of their oldest runs."""
    runs = Run.objects.for_team(team).filter(
        purged_at=None,
        ended_at__lt=before,
        thread__legal_hold=False,
        pk__lt=uuid7_floor(before.timestamp()),
    )
    threads: set[UUID] = set()
    after = UUID(int=0)
    while page := list(
        islice(runs.filter(pk__gt=after).order_by("pk").values_list("pk", "thread_id"), THREADS)
    ):
        for _, thread_id in page:
            if thread_id not in threads:
                threads.add(thread_id)
                yield thread_id
        after = page[-1][0]


def _expire_items(team: Team, before: datetime, until: float) -> None:
    """Empty the conversations without a log that clients last changed before that time."""
    unpurged = Run.objects.for_team(team).filter(thread=OuterRef("thread"), purged_at=None)
    over = ThreadHistory.objects.filter(
        ~Exists(unpurged), thread__team=team, thread__legal_hold=False, rewritten_at__lt=before
    )
    while time.monotonic() < until:
        with transaction.atomic():
            # A run that starts meanwhile waits for the thread, and finds the conversation empty.
            threads = Thread.objects.for_team(team).filter(pk__in=over.values("thread"))
            free = threads.select_for_update(skip_locked=True, no_key=True, of=("self",))
            ids = list(free.values_list("pk", flat=True)[:THREADS])
            emptied = {"fold": Fold().dump(), "rewritten_at": None}
            if not over.filter(thread__in=ids).update(**emptied):
                return
            drop_unused(ids)
        log.info("retention.items_removed", team=team.slug, threads=len(ids))


def within(room: int, sizes: Mapping[UUID, int]) -> list[UUID]:
    """The first of these keys, as far as there is room for their sizes; at least one."""
    keys: list[UUID] = []
    for key, size in sizes.items():
        room -= size
        if keys and room < 0:
            break
        keys.append(key)
    return keys


def purge_thread(thread_id: UUID, before: datetime) -> int:
    """Purge the oldest runs of a thread that ended before that time; returns how many.

    Only from its beginning on, since the fold of a thread is made in the order of its runs. A
    locked thread is left for the next time.
    """
    history.current(thread_id)  # The fold must contain these logs, or their messages would be lost.
    with transaction.atomic():
        free = Thread.objects.already_found().select_for_update(
            skip_locked=True, no_key=True, of=("self",)
        )
        if not free.filter(pk=thread_id, legal_hold=False, team__legal_hold=False).exists():
            return 0
        runs = list(
            Run.objects.of_one_thread().filter(thread_id=thread_id, purged_at=None).order_by("pk")
        )
        over = list(takewhile(lambda run: run.ended_at is not None and run.ended_at < before, runs))
        stored = ThreadHistory.objects.filter(thread_id=thread_id)
        if not over or not stored.filter(through__gte=over[-1].pk).exists():
            return 0
        if len(over) == len(runs):
            stored.update(fold=Fold().dump())
            name = Thread.objects.already_found().values_list("thread_id", flat=True)
            checkpoints.forget(str(over[0].team_id), name.get(pk=thread_id))
        _entomb(over[0].team_id, [run.pk for run in over])
        return len(over)


def purge_run(run: Run) -> None:
    """Purge one ended run, under its thread's lock; its messages stay in the thread's history.

    Raises Conflict while an earlier run has not ended: the history is made in their order.
    """
    history.current(run.thread_id)
    stored = ThreadHistory.objects.filter(thread_id=run.thread_id)
    if not stored.filter(through__gte=run.pk).exists():
        raise Conflict("A run before this one has not ended yet; try again.")
    if run.purged_at is None:
        _entomb(run.team_id, [run.pk])


def _entomb(team_id: UUID, run_ids: list[UUID]) -> None:
    """Reduce these runs to who started them, when, and how they ended."""
    size = purge.doom(run_ids)
    storing.forget(run_ids)
    insight.forget(run_ids)
    contents: tuple[type[Content], ...] = (
        Interrupt, Comment, Feedback, Failure, ImportedRun, Effect, Recovery, RunMessage, RunLabel,
        DataSetRun,
    )  # fmt: skip
    for model in contents:
        model.objects.already_found().filter(run__in=run_ids).delete()
    rows = Run.objects.already_found().filter(pk__in=run_ids)
    rows.update(
        purged_at=clock.now(),
        input="{}",
        context=None,
        person=None,
        result=None,
        usage=None,
        error_message="",
        asked="",
        answered="",
        idempotency_key=None,
    )
    drop_unused(set(rows.values_list("thread_id", flat=True)))
    references.release(run_ids)
    admission.freed(team_id, size)
