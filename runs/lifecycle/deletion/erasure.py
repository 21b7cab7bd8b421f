"""Erasure on request: a thread, or a whole team, with everything in it.

What readers could see is deleted in one transaction, which also dooms the rows of the logs; they
are swept soon after (``events.purge``). Open streams are told to re-check access, and end.
"""

import time
from collections import Counter
from itertools import chain
from uuid import UUID

import structlog
from django.db import transaction

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict
from agui_host.frameworks import checkpoints
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import AuditEntry, Team
from agui_host.teams.revocation import revoked
from events import purge
from events.models import Journal
from runs.lifecycle import admission, descendants, lifecycle
from runs.lifecycle.deletion import retention
from runs.lifecycle.deletion.retention import LONGEST_REST, RUNS, THREADS, within
from runs.lifecycle.files import uploads
from runs.models import ACTIVE, Run, Thread

log = structlog.get_logger(__name__)


class LegalHold(Conflict):
    """This is under legal hold: nothing in it may be erased."""

    code = "legal_hold"


class TeamBusy(Conflict):
    """Runs of this team are being stopped and have not ended yet; try again."""

    code = "team_busy"


def erase_run(by: Acting, run: Run) -> None:
    """Erase a run's events; the messages of a thread with other runs stay in its history.

    Raises LegalHold, and ThreadBusy while the run has not ended: cancel it first.
    """
    with transaction.atomic():
        thread = (
            Thread.objects.already_found()
            .select_for_update(of=("self",))
            .select_related("team")
            .filter(pk=run.thread_id)
            .first()
        )
        if thread is None:
            return  # Another request was faster.
        check_hold(thread.team, thread)
        now = Run.objects.already_found().get(pk=run.pk)
        if now.status in ACTIVE:
            raise lifecycle.ThreadBusy(details=lifecycle.address(now))
        if not Run.objects.filter(thread=thread).exclude(pk=run.pk).exists():
            erase_thread(by, thread)
            return
        retention.purge_run(now)
        audit.record(by, thread.team, "run.erased", str(run.pk))
        revoked(thread.team_id)


def erase_thread(by: Acting | str, thread: Thread) -> None:
    """Erase a thread with its runs and those they spawned; only the audit log mentions it.

    Raises LegalHold, and ThreadBusy while a run has not ended: cancel it first.
    """
    with transaction.atomic():
        locked_rows = (
            Thread.objects.already_found().select_for_update(of=("self",)).select_related("team")
        )
        locked = locked_rows.filter(pk=thread.pk).first()
        if locked is None:
            return  # Another request was faster.
        check_hold(locked.team, locked)
        for begun in Thread.objects.for_team(locked.team).filter(pk__in=descendants.of(locked)):
            erase_thread(by, begun)
        _erase(by, locked.team, [locked.pk])


def _erase(by: Acting | str, team: Team, threads: list[UUID]) -> None:
    """Erase these threads, which the caller has locked. Raises ThreadBusy, then for all."""
    runs: dict[UUID, list[UUID]] = {key: [] for key in threads}
    rows = Run.objects.for_team(team).filter(thread__in=threads).order_by("pk")
    for run in rows.only("pk", "thread_id", "run_id", "status", "team_id"):
        if run.status in ACTIVE:
            raise lifecycle.ThreadBusy(details=lifecycle.address(run))
        runs[run.thread_id].append(run.pk)
    logs = list(chain.from_iterable(runs.values()))
    size = purge.doom(logs)
    AuditEntry.objects.bulk_create(
        audit.line(by, team, "thread.erased", str(key), runs=len(ids)) for key, ids in runs.items()
    )
    revoked(team.pk)
    rows_of_threads = Thread.objects.for_team(team).filter(pk__in=threads)
    checkpoints.forget(str(team.pk), *rows_of_threads.values_list("thread_id", flat=True))
    rows_of_threads.delete()
    with scope.everywhere():  # they were the team's through their runs
        Journal.objects.filter(pk__in=logs).delete()
    admission.freed(team.pk, size)


def erase_team(team: Team) -> None:
    """Erase a team: it is archived at once, its runs are stopped, then everything is deleted.

    Its people's accounts stay. Raises LegalHold, also for one of its threads, and TeamBusy while
    runs have not ended. It is idempotent: call it again to resume.
    """
    check_hold(team)
    Team.objects.filter(pk=team.pk, archived_at=None).update(archived_at=clock.now())
    revoked(team.pk)
    for run in Run.objects.for_team(team).filter(status__in=ACTIVE).order_by("-pk"):
        lifecycle.cancel(run)
    if Run.objects.for_team(team).filter(status__in=ACTIVE).exists():
        raise TeamBusy
    while _erase_some(team):
        pass
    uploads.erase(team)
    with audit.erasing(team):
        team.delete()
    log.info("team.erased", team=team.slug)


def _erase_some(team: Team) -> int:
    """Erase the next threads of a team that goes as a whole; how many."""
    began = time.monotonic()
    with transaction.atomic():
        locked_rows = Thread.objects.for_team(team).select_for_update(of=("self",)).order_by("pk")
        threads = list(locked_rows.values_list("pk", "legal_hold")[:THREADS])
        if Team.objects.filter(pk=team.pk, legal_hold=True).exists() or any(
            is_held for _, is_held in threads
        ):
            raise LegalHold
        if threads:
            runs = Run.objects.for_team(team).filter(thread__in=[key for key, _ in threads])
            counts = Counter(runs.values_list("thread_id", flat=True))
            _erase("host", team, within(RUNS, {key: counts[key] for key, _ in threads}))
    time.sleep(min(LONGEST_REST, time.monotonic() - began))
    return len(threads)


def check_hold(team: Team, thread: Thread | None = None) -> None:
    """Raises LegalHold for a team or a thread from which nothing may be erased now."""
    if thread is not None:
        if thread.legal_hold or team.legal_hold:
            raise LegalHold
    elif team.legal_hold or Thread.objects.for_team(team).filter(legal_hold=True).exists():
        raise LegalHold
