"""A team's schedules as callers manage them: permission, limits, and the audit log."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils import timezone

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.protocol.input.zones import zone
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.offboarding import Ended, Leaving
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access, start
from runs.lifecycle.schedules import due, template, ticks
from runs.models import Run, Schedule, StopReason, Thread, ThreadPolicy

SHOWN = 5
"""How many of the next ticks are shown."""
FARTHEST = timedelta(days=3660)
WHEN = ("cron", "time_zone", "run_at")
DEFAULTS: Mapping[str, Any] = {"agent": None, "input": {}, "cron": None, "run_at": None}


class SchedulesFull(Conflict):
    """The team has as many schedules as this host allows; remove one first."""

    code = "schedules_full"


def visible(principal: Principal) -> TeamQuerySet[Schedule]:
    """The team's schedules, without those in other people's private threads. Raises Forbidden."""
    principal.require("schedule")
    threads = Thread.objects.for_team(principal.team).filter(thread_id=OuterRef("thread_id"))
    private = threads.exclude(access.open_to(principal.actor_id))
    rows: TeamQuerySet[Schedule] = Schedule.objects.for_team(principal.team)
    if principal.agents is not None:
        rows = rows.filter(agent__in=list(principal.agents))
    return rows.exclude(Exists(private))


def find(principal: Principal, schedule_id: UUID) -> Schedule:
    """One of them. Raises NotFound, Forbidden."""
    return _found(visible(principal), schedule_id)


def next_runs(schedule: Schedule) -> list[datetime]:
    """When a schedule fires next, at most ``SHOWN`` times; nothing if it is stopped."""
    if schedule.next_at is None:
        return []
    rule = ticks.rule_of(schedule)
    later = rule.upcoming(schedule.next_at, SHOWN - 1) if rule else []
    return [schedule.next_at, *later]


def create(principal: Principal, values: Mapping[str, Any]) -> Schedule:
    """A new schedule, which runs as the principal.

    ``values``: ``agent``, ``cron`` or ``run_at``, ``time_zone``, ``input``, ``thread``,
    ``thread_id``, ``on_busy``, ``missed``, ``name``, ``paused``. Raises Forbidden, Invalid,
    UnknownAgent, SchedulesFull, and NotFound for another person's thread.
    """
    principal.require("schedule")
    with members.holding(principal) as now:
        now.require("schedule")
        most = settings.AGUI_SCHEDULES_MAX
        if most and Schedule.objects.for_team(now.team).count() >= most:
            raise SchedulesFull(details={"max": most})
        row = Schedule(team=now.team, runs_as=principal.label, owner=principal.actor_id)
        _set(now, row, {**DEFAULTS, "time_zone": now.team.time_zone, **values})
        _resume_or_pause(row, paused=values.get("paused", False))
        row.save(force_insert=True)
        audit.record(
            principal, now.team, "schedule.created", str(row.pk), agent=row.agent, cron=row.cron
        )
    row.refresh_from_db(fields=["created_at"])
    return row


def change(principal: Principal, schedule_id: UUID, values: Mapping[str, Any]) -> Schedule:
    """Set what ``values`` name. Raises as ``create``, and NotFound.

    The principal that changes or resumes a schedule answers for it: it runs as them from then on.
    Pausing it does not take it over.
    """
    with members.holding(principal) as now:
        row = _locked(now, schedule_id)
        takes_over = set(values) - {"paused"} or not values.get("paused", True)
        if takes_over:
            # All of it is checked with the rights of the new owner, not only the changes.
            row.runs_as, row.owner = principal.label, principal.actor_id
            _set(now, row, {"agent": row.agent, **values})
        if "paused" in values:
            _resume_or_pause(row, paused=values["paused"])
        elif set(values) & set(WHEN) and row.stopped in ("", StopReason.FINISHED):
            _resume_or_pause(row, paused=False)
        row.save()
        audit.record(principal, now.team, "schedule.changed", str(row.pk), fields=sorted(values))
    return row


def remove(principal: Principal, schedule_id: UUID) -> None:
    """Delete a schedule; its runs stay. Raises NotFound, Forbidden."""
    with members.holding(principal) as now:
        _locked(now, schedule_id).delete()
        audit.record(principal, now.team, "schedule.deleted", str(schedule_id))


def run_now(principal: Principal, schedule_id: UUID, *, key: str | None = None) -> Run:
    """Start a run of a schedule at once, in the caller's own name; its ticks stay as they are.

    Raises NotFound, and as a start does.
    """
    schedule = find(principal, schedule_id)
    request = template.request_of(schedule, clock.now(), by_hand=True)
    return start.start_run(principal, request, key=key).run


def withdraw(leaving: Leaving) -> Ended:
    """Stop the schedules that run as a leaver, or as one of their keys."""
    reason = StopReason.KEY_REVOKED if leaving.user_id is None else StopReason.OWNER_LEFT
    rows = Schedule.objects.for_team(leaving.team).select_related("team")
    going = rows.filter(owner__in=leaving.actors, stopped="").order_by("pk")
    for schedule in going.select_for_update(of=("self",)):
        due.stop(schedule, reason, leaving.by)
    return Ended()


def _locked(principal: Principal, schedule_id: UUID) -> Schedule:
    return _found(visible(principal).select_for_update(of=("self",)), schedule_id)


def _found(rows: TeamQuerySet[Schedule], schedule_id: UUID) -> Schedule:
    row = rows.filter(pk=schedule_id).first()
    if row is None:
        raise NotFound("There is no such schedule.")
    return row


def _set(principal: Principal, row: Schedule, values: Mapping[str, Any]) -> None:
    for name in ("name", "missed", "time_zone"):
        if name in values:
            setattr(row, name, values[name])
    if "on_busy" in values:
        row.on_busy = values["on_busy"] or ""
    if "agent" in values:
        row.agent = start.find_agent(principal, values["agent"]).slug
    if "input" in values:
        row.input = template.stored(values["input"])
    if set(values) & set(WHEN):
        _set_times(row, values)
    _set_thread(principal, row, values)
    template.request_of(row, clock.now())  # raises what a start would raise


def _set_times(row: Schedule, values: Mapping[str, Any]) -> None:
    """Whichever of ``cron`` and ``run_at`` is set takes the place of the other."""
    expression, run_at = values.get("cron"), values.get("run_at")
    if expression and run_at:
        raise Invalid("Set cron or run_at, not both.", details={"path": "run_at"})
    own_zone = zone(row.time_zone)
    if run_at:
        row.cron, row.run_at = "", _moment(run_at, own_zone)
    elif expression:
        row.cron, row.run_at = " ".join(expression.split()), None
    if not (row.cron or row.run_at):
        raise Invalid("Set cron, or run_at for one run.", details={"path": "cron"})
    if row.cron:
        ticks.cron(row.cron, row.time_zone, settings.AGUI_SCHEDULE_SHORTEST)


def _moment(run_at: datetime, own_zone: ZoneInfo) -> datetime:
    """The time in UTC: the database refuses offsets and years that Python accepts."""
    aware = run_at if timezone.is_aware(run_at) else run_at.replace(tzinfo=own_zone)
    try:
        moment = aware.astimezone(UTC)
    except OverflowError:
        raise Invalid("run_at is not a valid time.", details={"path": "run_at"}) from None
    if moment > clock.now() + FARTHEST:
        raise Invalid("run_at is more than ten years away.", details={"path": "run_at"})
    return moment


def _set_thread(principal: Principal, row: Schedule, values: Mapping[str, Any]) -> None:
    row.thread = values.get("thread", row.thread)
    if row.thread == ThreadPolicy.NEW:
        if values.get("thread_id"):
            raise Invalid('A thread_id is for "thread": "fixed".', details={"path": "thread_id"})
        row.thread_id = ""
        return
    row.thread_id = values.get("thread_id") or row.thread_id or str(uuid4())
    access.require_thread(principal, row.thread_id)


def _resume_or_pause(row: Schedule, *, paused: bool) -> None:
    """Set the next tick, after now and after all that were dealt with; or none while paused."""
    if paused:
        row.next_at, row.stopped = None, StopReason.PAUSED
        return
    # The clock of this machine can be behind that of the one that dealt with the last tick.
    moment = max(filter(None, (clock.now(), row.last_tick)))
    rule = ticks.rule_of(row)
    if rule is None and row.run_at is not None and row.run_at <= moment:
        raise Invalid("run_at has passed; set a later one.", details={"path": "run_at"})
    row.next_at, row.stopped = rule.after(moment) if rule else row.run_at, ""
