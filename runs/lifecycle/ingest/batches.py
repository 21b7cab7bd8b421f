"""Feeding: a run of an external agent is opened, takes its producer's batches, and ends.

Each batch is one transaction: the producer's place, what its next batch needs, the events behind
the journal's fence and, with the terminal event, the run's status. So it does not matter which web
process takes it, nor when one dies. Order of locks: ingest → journal → run, as elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from agui_host.backends import epochs, work
from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, MethodNotAllowed, Unavailable
from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import BadRequest, RunErrorCode
from agui_host.protocol.intake.fed import EventRefused, FedIntake
from agui_host.teams.limits import LimitReached, Limits, limits_of
from events import findings, journal
from events.journal import Claim
from events.models import Journal
from runs.lifecycle import admission, ending, jobs, lifecycle, repetition
from runs.lifecycle.ending import IllegalTransition
from runs.lifecycle.ingest import intakes, producers
from runs.lifecycle.ingest.producers import Place
from runs.lifecycle.lifecycle import Claimed
from runs.models import ACTIVE, Ingest, Run, Status

log = structlog.get_logger(__name__)

EMPTY = "A batch has at least one event, unless Stream-Closed ends the run."
EVENT = 20
"""Units of work for each event of a batch."""
AHEAD = 5.0
"""Seconds by which a producer that does not wait for its answers may be ahead of its pace."""


class StreamClosed(Conflict):
    """This run has ended; nothing can be appended to it."""

    code = "stream_closed"


@dataclass(frozen=True, slots=True)
class Fed:
    """The outcome of a batch: whether it is ``new``, the newest one's place, the log's head.

    ``wait``: seconds by which the run is ahead of its team's events per second.
    """

    new: bool
    place: Place
    head: int
    closed: bool
    wait: float = 0.0


def open_now(run: Run) -> bool:
    """Open an admitted run of an external agent for its producer; False if it waits its turn."""
    if run.stamp is None:
        return False
    with transaction.atomic():
        # Claimed and begun at once: the reaper must not see a running run without either.
        if (claimed := lifecycle.claim(run.pk)) is not None:
            begin(claimed)
    return True


def begin(claimed: Claimed) -> None:
    """Hand a claimed run over to its producer: from here on it needs no worker."""
    run, prepared = claimed.run, claimed.prepared
    intake = intakes.new(FedIntake, run, claimed.limits, prepared.echo, prepared.history)
    records = intakes.opening(intake, prepared.input["state"])
    if claimed.questions:
        records += intake.finish({"type": "interrupt", "interrupts": claimed.questions})
    timeout = run.agent.timeout_seconds or settings.AGUI_RUN_TIMEOUT
    seconds = min(claimed.limits.run_seconds or timeout, timeout)
    with transaction.atomic():
        if not intake.ended:
            Ingest.objects.create(
                run=run,
                generation=claimed.claim.generation,
                memory=intake.memory,
                seen_at=Now(),
                ends_at=Now() + timedelta(seconds=seconds),
                paced_until=Now(),
            )
        _append(run, claimed.claim, records, intake)
        Run.objects.already_found().filter(pk=run.pk).update(worker=None)
        if run.parent_id is None:
            jobs.cancel(run)


def take(run: Run, place: Place | None, events: Sequence[Any], *, closes: bool) -> Fed:
    """Append a batch; with ``closes`` the run ends behind it. ``place`` None only closes.

    Raises StaleEpoch, SequenceGap, StreamClosed, EventRefused, LimitReached, MethodNotAllowed for a
    run of a hosted agent, Unavailable for one that waits for its turn.
    """
    if not run.agent.is_fed:
        raise MethodNotAllowed("Only a run of an external agent can be fed.")
    try:
        with transaction.atomic():
            ingest = _locked(run)
            fed = _taken(run, ingest, place, events, closes=closes)
    except IllegalTransition:  # It was cancelled, or lost its producer, at this moment.
        raise _closed(place, Journal.objects.get(pk=run.pk)) from None
    if fed is None:
        raise _closed(place, Journal.objects.get(pk=run.pk))
    return fed


def sweep() -> list[UUID]:
    """End the runs whose producer was silent for longer than the lease; their ids."""
    ended = []
    silent = Ingest.objects.filter(
        run__status=Status.RUNNING,
        seen_at__lt=Now() - timedelta(seconds=settings.AGUI_INGEST_LEASE),
    )
    for run_id in list(silent.values_list("pk", flat=True)):
        try:
            with transaction.atomic():
                # Looked at again under its lock: a batch may have come meanwhile.
                locked = silent.filter(pk=run_id).select_for_update(of=("self",), skip_locked=True)
                if locked.first() is None:
                    continue
                rows = Run.objects.of_any_team().select_related("thread", "agent")
                if repetition.end_lost(rows.get(pk=run_id)):
                    ended.append(run_id)
        except Exception:
            log.exception("ingest.sweep_failed", run=str(run_id))
    return ended


def _locked(run: Run) -> Ingest | None:
    return Ingest.objects.select_for_update().filter(run=run).first()


def _taken(
    run: Run, ingest: Ingest | None, place: Place | None, events: Sequence[Any], *, closes: bool
) -> Fed | None:
    """``take`` in its transaction; None if the run has ended, also for taking too long."""
    if ingest is None:
        ingest = _opened(run)
    stored = Journal.objects.get(pk=run.pk)
    if ingest is None:
        return None
    here, closed = Place(ingest.producer, ingest.epoch, ingest.seq), stored.closed_at is not None
    try:
        new = place is None or producers.is_new(here, place)
    except producers.SequenceGap:
        if closed:
            return None
        raise
    if closed or not new:
        if new and not (closes and not events):
            return None
        _renew(run)
        return Fed(False, here, stored.head, closed)
    if not events and not closes:
        raise BadRequest(EMPTY)
    limits = limits_of(run.team_id)
    wait = _pace(ingest, limits, len(events))
    intake = intakes.fed(run, ingest, stored)
    if clock.now() > ingest.ends_at:
        records = intake.fail(RunErrorCode.TIMEOUT, "The run took longer than it may.")
        _append(run, _claim(run, ingest, stored), records, intake)
        return None
    try:
        records = intake.take(events, ends=closes)
    except EventRefused:
        intakes.keep(run, intake, stored.bytes)
        raise
    finally:
        # A refused batch costs as much.
        work.charge(run.team_id, "fold", intake.replicas.work + EVENT * len(events))
        intake.replicas.work = 0
    here = place or here
    Ingest.objects.filter(pk=run.pk).update(
        producer=here.producer,
        epoch=here.epoch,
        seq=here.seq,
        memory="" if intake.ended else intake.memory,
        seen_at=Now(),
        paced_until=ingest.paced_until,
    )
    _append(run, _claim(run, ingest, stored), records, intake)
    if not intake.ended:
        size = stored.bytes + sum(len(record.payload) for record in records)
        transaction.on_commit(lambda: intakes.keep(run, intake, size))
    return Fed(True, here, intake.head, intake.ended, wait)


def _opened(run: Run) -> Ingest | None:
    """The ingest of a run that is opened only now, without a worker; None if it has ended."""
    run.refresh_from_db(fields=["status", "stamp"])
    if run.status == Status.QUEUED and not open_now(run):
        raise Unavailable("The run waits for its turn; its producer cannot ingest it yet.")
    if (ingest := _locked(run)) is not None:
        return ingest
    # Read behind the ingest: a run without one that goes on is just being opened by a worker.
    run.refresh_from_db(fields=["status"])
    if run.status in ACTIVE:
        raise Unavailable("A worker is opening the run; send the batch again.")
    return None


def _claim(run: Run, ingest: Ingest, stored: Journal) -> Claim:
    """The right to append; in a new epoch a new one, since events may have been lost."""
    if connection.connection.is_pooled:  # a session of a pooler does not say whose it is now
        epochs.read(connection.connection)
    epoch = stored.written.at(stored.head + 1).epoch
    if epoch == epochs.latest:
        return Claim(run.pk, ingest.generation, stored.head, epoch)
    if (claim := journal.take_over(run.pk)) is None:
        raise IllegalTransition
    Ingest.objects.filter(pk=run.pk).update(generation=claim.generation)
    return claim


def _append(run: Run, claim: Claim, records: Sequence[Record], intake: FedIntake) -> None:
    if records:
        ending.append(run, claim, records, intake)
    if new := intake.take_findings():
        findings.store(run.pk, new)
    if intake.ended:
        admission.made_room(run.team_id)


def _renew(run: Run) -> None:
    # A producer without anything to say repeats its newest batch to stay alive.
    Ingest.objects.filter(pk=run.pk).update(seen_at=Now())


def _pace(ingest: Ingest, limits: Limits, events: int) -> float:
    """Count a batch against the team's events per second; the seconds it is ahead of them."""
    if not limits.events_per_second:
        return 0.0
    now = clock.now()
    ahead = (ingest.paced_until - now).total_seconds()
    if ahead > AHEAD:
        raise LimitReached.of("events_per_second", limits.events_per_second, after=ahead)
    seconds = timedelta(seconds=events / limits.events_per_second)
    ingest.paced_until = max(now, ingest.paced_until) + seconds
    # As elsewhere, a second's worth of events may come at once.
    return max(0.0, (ingest.paced_until - now).total_seconds() - 1)


def _closed(place: Place | None, stored: Journal) -> StreamClosed:
    """The refusal, with headers by which stock producers neither wait nor try again."""
    headers = {"stream-closed": "true", "stream-next-offset": f"{stored.head:016d}"}
    if place is not None:
        headers |= producers.gap(place.seq, place.seq)
    return StreamClosed(details={"head": stored.head}, headers=headers)
