"""A tick of a schedule becomes a run, in its owner's name and with the owner's rights of now."""

from datetime import datetime
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, transaction

from agui_host.backends.postgres import scope, turns
from agui_host.protocol.errors import HostError, Invalid
from agui_host.teams import audit, authentication
from agui_host.teams.actors import HOST
from agui_host.teams.authentication import Principal
from runs.access import start
from runs.lifecycle import admission
from runs.lifecycle.schedules import due, template, ticks
from runs.lifecycle.schedules.due import Due
from runs.models import Missed, Run, Schedule, StopReason

log = structlog.get_logger(__name__)
MISSED = "missed"
"""The outcome of a tick that came while no process of the host was there."""


def fire(occasion: Due) -> bool:
    """Deal with one tick of a schedule, if it is still due; whether it was.

    The run is made in the transaction that moves the schedule to its next tick. A start that is
    refused is recorded, and the tick is over. Raises turns.NotYet while another request starts a
    run in its thread, and OperationalError while the database is away: then the tick is still due.
    """
    with scope.limited(occasion.team), transaction.atomic():
        rows = Schedule.objects.filter(team=occasion.team).select_related("team__limits")
        locked = rows.select_for_update(of=("self",), skip_locked=True)
        # Locked: another process fires it. No longer due: another process has fired it.
        schedule = locked.filter(pk=occasion.schedule, next_at__lte=occasion.now).first()
        if schedule is None:
            return False
        owner = authentication.of_actor(schedule.team, schedule.owner)
        if owner is None:
            due.stop(schedule, StopReason.NO_ACCESS, HOST)
            return True
        schedule.owner, schedule.runs_as = owner.actor_id, owner.label
        _tick(schedule, owner, occasion.now)
        return True


def _tick(schedule: Schedule, owner: Principal, now: datetime) -> None:
    assert schedule.next_at is not None  # noqa: S101 - it is due
    try:
        rule = ticks.rule_of(schedule)
        tick, fires, following = ticks.decide(rule, schedule.next_at, now, Missed(schedule.missed))
    except Invalid as broken:  # Another host's time zone, or an abolished one.
        schedule.last_code, schedule.last_message = broken.code, broken.message
        schedule.next_at, schedule.stopped = None, StopReason.FINISHED
        schedule.save()
        return
    schedule.last_tick, schedule.last_at, schedule.last_run = tick, now, None
    schedule.last_code, schedule.last_message = MISSED, "No process of the host was there in time."
    if fires:
        try:
            schedule.last_run = _start(schedule, owner, tick)
            schedule.last_code = schedule.last_message = ""
        except HostError as refused:
            schedule.last_code, schedule.last_message = refused.code, refused.message
            # The start's work after its commit was rolled back with it.
            admission.look_again(schedule.team_id)
    schedule.next_at = following
    if following is None:
        schedule.stopped = StopReason.FINISHED
    schedule.save()


def _start(schedule: Schedule, owner: Principal, tick: datetime) -> UUID:
    """Start the run of a tick. Raises HostError if it is refused: then nothing is written."""
    try:
        with transaction.atomic():
            request = template.request_of(schedule, tick)
            run: Run = start.start_run(owner, request, key=None).run
            audit.record(owner, schedule.team, "schedule.fired", str(schedule.pk), run=str(run.pk))
            run_id: UUID = run.pk
            return run_id
    except (HostError, turns.NotYet, OperationalError, InterfaceError):
        raise
    except Exception as error:
        # A schedule that cannot be fired must not be tried again for ever.
        log.exception("schedule.failed", schedule=str(schedule.pk))
        raise HostError("The host could not start the run.") from error
