"""Erasure on request: a thread, or a whole team, with everything in it.

What readers could see is deleted in one transaction, which also dooms the rows of the logs; they
are swept soon after (``events.purge``). Open streams are told to re-check access, and end.
"""

import structlog
from django.db import transaction

from agui_host.backends.postgres import clock, scope
from agui_host.errors import Conflict
from agui_host.frameworks import checkpoints
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import Team
from agui_host.teams.revocation import revoked
from events import purge
from events.models import Journal
from runs.lifecycle import admission, descendants, lifecycle
from runs.lifecycle.deletion import retention
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
        active = Run.objects.filter(thread=locked, status__in=ACTIVE).first()
        if active is not None:
            raise lifecycle.ThreadBusy(details=lifecycle.address(active))
        runs = list(Run.objects.filter(thread=locked).values_list("pk", flat=True))
        size = purge.doom(runs)
        checkpoints.forget(str(locked.team_id), locked.thread_id)
        audit.record(by, locked.team, "thread.erased", str(locked.pk), runs=len(runs))
        revoked(locked.team_id)
        locked.delete()
        with scope.everywhere():  # they were the team's through their runs
            Journal.objects.filter(pk__in=runs).delete()
        admission.freed(locked.team_id, size)


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
    for thread in Thread.objects.for_team(team).order_by("pk").iterator():
        erase_thread("host", thread)
    uploads.erase(team)
    with audit.erasing(team):
        team.delete()
    log.info("team.erased", team=team.slug)


def check_hold(team: Team, thread: Thread | None = None) -> None:
    """Raises LegalHold for a team or a thread from which nothing may be erased now."""
    if thread is not None:
        if thread.legal_hold or team.legal_hold:
            raise LegalHold
    elif team.legal_hold or Thread.objects.for_team(team).filter(legal_hold=True).exists():
        raise LegalHold
