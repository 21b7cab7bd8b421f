"""How a run ends: by its terminal event, by a cancel, or because its worker is gone.

``finish`` runs in the group commit of all runs of a worker. Functions here lock the rows that it
needs (journal, run, interrupts) for a few statements only; if one of those transactions is frozen,
the writer's ``lock_timeout`` delays that run only (``events.writer.commits``). Locks are taken in
the order that ``lifecycle.py`` names.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict
from agui_host.prices import Prices
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.tally import Tally
from agui_host.protocol.strict_json import dumps
from agui_host.runtimes.kinds import kinds
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from events import announce, journal
from events.journal import Batch, Claim
from events.writer.lease import Also
from runs.lifecycle import admission, history, interrupts, jobs
from runs.lifecycle.ingest import intakes
from runs.lifecycle.statements import ends, figures
from runs.lifecycle.statuses import error_of, log_end, status_of
from runs.lifecycle.usage import team_prices
from runs.models import Run, Status

REPEATED_BY = "repeatedBy"
"""The member of RUN_ERROR's metadata that names the run which the host has started instead."""


class IllegalTransition(Conflict):
    """The run is no longer in a state that allows this."""

    code = "illegal_transition"


def finish(
    run_id: UUID,
    terminal: dict[str, Any],
    tally: Tally | None = None,
    team: Prices = figures.UNPRICED,
) -> UUID:
    """Store how a run ended; runs in the transaction that stores its terminal event.

    ``tally``: what all of its events were, if that is known. ``team``: its prices. Returns the
    run's id, which ``admission.FOLLOW_UP`` takes after that commit.
    """
    status = status_of(terminal)
    if not ends.store(run_id, status, **_columns(status, terminal, tally, team)):
        raise IllegalTransition
    interrupts.settle(run_id, status, terminal)
    return run_id


def finishing(run_id: UUID, terminal: dict[str, Any], tally: Tally | None, team: Prices) -> Also:
    """``finish`` for a writer to call; a run that succeeded settles nothing: its statement."""
    status = status_of(terminal)
    if status is Status.SUCCEEDED:
        return ends.statement(run_id, status, **_columns(status, terminal, tally, team))
    return partial(finish, run_id, terminal, tally, team)


def _columns(
    status: Status, terminal: dict[str, Any], tally: Tally | None, team: Prices
) -> dict[str, Any]:
    return {
        **(error_of(terminal) if status is Status.FAILED else {}),
        **{name: dumps(terminal[name]) for name in ("result", "usage") if name in terminal},
        **figures.of(terminal, tally, team),
    }


def cancel(run: Run, by: Acting | str = "host") -> None:
    """Cancel a run: end a queued one, signal a running one, do nothing if it has ended.

    A run that is fed from elsewhere ends at once. ``by``: the principal or process that cancels.
    A worker may claim the run between our look and our takeover. Then the conditional update finds
    no queued row, the takeover is rolled back with the savepoint, and the run is asked to stop like
    any running one.
    """
    with transaction.atomic():
        if ended_by_cancel(run, by):
            admission.made_room(run.team_id)


def ended_by_cancel(run: Run, by: Acting | str) -> bool:
    """Cancel in the caller's transaction; True if that ended the run.

    Then the caller admits the next one, last of all. The run may have been admitted since it was
    read; now that we have its locks, that cannot happen.
    """
    if ended := _end_unclaimed(run):
        run.refresh_from_db(fields=["job_id"])
        jobs.cancel(run)
        audit.record(by, run.team, "run.cancelled", str(run.pk))
        return ended
    running = Run.objects.already_found().filter(
        pk=run.pk, status=Status.RUNNING, cancel_requested_at=None
    )
    if running.update(cancel_requested_at=clock.now()):
        run.refresh_from_db(fields=["job_id"])
        if run.agent.continues:
            # No worker is to take it for its end, least of all after a pause: the reaper ends it.
            Run.objects.already_found().filter(pk=run.pk, worker=None).update(due_at=None)
        if run.parent_id is None:  # A parent looks after its children.
            jobs.abort(run)
        audit.record(by, run.team, "run.cancelled", str(run.pk))
    return False


GONE = "The worker that executed this run is gone."


def end_lost(run: Run, message: str = GONE) -> bool:
    """End a run whose worker is gone; False if it ended."""
    with transaction.atomic():
        if ended := ended_as_lost(run, message=message):
            admission.made_room(run.team_id)
        return ended


def ended_as_lost(run: Run, repeated_by: UUID | None = None, message: str = GONE) -> bool:
    """``end_lost`` in the caller's transaction, which admits the next run, last of all.

    ``repeated_by``: the run that the same transaction starts in its place.
    """
    if (claimed := journal.take_over(run.pk)) is None:
        return False
    intake = _reopened(run, claimed)
    more = {} if repeated_by is None else {"metadata": {REPEATED_BY: str(repeated_by)}}
    records = intake.fail(RunErrorCode.WORKER_LOST, message, **more)
    append(run, claimed, records, intake)
    jobs.fail(run)
    return True


def _end_unclaimed(run: Run) -> bool:
    """End a run that no worker executes: it is queued, or fed from elsewhere."""
    with transaction.atomic():
        claimed = journal.take_over(run.pk)
        # A worker that has claimed a run for its producer and not opened it yet will learn of it.
        here = Q(status=Status.QUEUED) | Q(status=Status.RUNNING, agent__kind__in=kinds.FED)
        current = Run.objects.already_found().filter(here, pk=run.pk)
        if claimed is None or not current.update(cancel_requested_at=clock.now()):
            transaction.set_rollback(True)
            return False
        intake = intakes.restored(run) or _reopened(run, claimed)
        append(run, claimed, intake.cancel(), intake)
        return True


def _reopened(run: Run, claimed: Claim) -> Intake:
    # The intake that ends a run; one that never began still echoes what its user said.
    echo = None if claimed.head else history.echo(run)
    return Intake.reopened(
        run.thread.thread_id, run.run_id, head=claimed.head, input=echo, clock=clock.seconds
    )


def append(run: Run, claimed: Claim, records: Sequence[Record], intake: Intake) -> None:
    """Append in the caller's transaction, and store the end if it has come; ring after it."""
    batch = Batch(claimed.journal_id, claimed.generation, claimed.head + 1, records, claimed.epoch)
    if claimed.journal_id not in journal.append([batch]):
        raise IllegalTransition
    if (terminal := intake.terminal) is not None:
        finish(claimed.journal_id, terminal, intake.tally, team_prices.of(run.team_id))
        jobs.store_outline(claimed.journal_id, batch.last)
        transaction.on_commit(lambda: log_end(run, terminal, batch.last))
    transaction.on_commit(lambda: announce.now([batch]))
