"""The chore that checks alerts: the teams take turns, and each alert is checked once a minute.

The row of an alert is locked while it is checked, so of two processes one checks it, and a change
of its state and the notice about it are one transaction: each is told exactly once.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, transaction

from agui_host.backends.postgres import clock
from runs.access.alerts import measures, states
from runs.access.alerts.states import Situation
from runs.models import Alert, AlertState, Notice
from runs.models.notices.notice import ALERT_FIRED, ALERT_RESOLVED

log = structlog.get_logger(__name__)
EVERY = timedelta(seconds=50)
BATCH = 200
# The first of each team come before the second of any.
DUE = """
select id from (
    select alert.id, alert.checked_at,
           row_number() over (partition by alert.team_id
                              order by alert.checked_at nulls first, alert.id) as turn
      from runs_alert alert join teams_team team on team.id = alert.team_id
     where alert.enabled and team.archived_at is null
       and (alert.checked_at is null or alert.checked_at <= %(before)s)) due
 order by turn, checked_at nulls first, id
 limit %(batch)s
"""


def run_once(seconds: float, leaving: Callable[[], bool] = bool) -> int:
    """Check the alerts that are due, for so many seconds at most; how many."""
    until, number = time.monotonic() + seconds, 0
    before = clock.now() - EVERY
    while keys := due(before):
        checked = 0
        for key in keys:
            if leaving() or time.monotonic() >= until:
                return number + checked
            checked += check(key, before)
        if not checked:
            break  # Others are at it.
        number += checked
    return number


def due(before: datetime, most: int = BATCH) -> list[UUID]:
    """The alerts that were last checked before this time, in the order of their turns."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"before": before, "batch": most})
        return [row[0] for row in cursor.fetchall()]


def check(key: UUID, before: datetime) -> bool:
    """Check one alert, unless another process does or has done so."""
    try:
        with transaction.atomic():
            rows = Alert.objects.already_found().filter(pk=key, enabled=True)
            locked = rows.select_for_update(skip_locked=True, of=("self",), no_key=True)
            row = locked.select_related("team").first()
            if row is None or (row.checked_at is not None and row.checked_at > before):
                return False
            judge(row, measures.value_of(row))
    except DatabaseError as error:
        log.warning("alert.not_checked", alert=str(key), error=repr(error))
        Alert.objects.already_found().filter(pk=key).update(checked_at=clock.now())
        return False
    return True


def judge(row: Alert, value: float | None) -> None:
    """Store a value of a locked alert, and make the notice if its state changes."""
    now = clock.now()
    snoozed = row.is_snoozed
    was = Situation(AlertState(row.state), row.fired_at, row.calm_since)
    situation = states.after(was, value, row.threshold, now, snoozed=snoozed)
    row.state, row.fired_at = situation.state, situation.fired_at
    row.calm_since, row.value, row.checked_at = situation.calm_since, value, now
    row.save(update_fields=["state", "fired_at", "calm_since", "value", "checked_at"])
    if situation.state != was.state:
        tell(row, was.fired_at or now, quietly=snoozed)


def tell(row: Alert, fired_at: datetime, *, quietly: bool = False) -> None:
    """Make the notice that an alert has begun to fire, or was resolved."""
    Notice.objects.create(
        team=row.team,
        type=ALERT_FIRED if row.state == AlertState.FIRING else ALERT_RESOLVED,
        subject=row.pk,
        agent=row.agent,
        tell=[] if quietly else row.tell,
        data={
            "alert": str(row.pk), "name": row.name, "measure": row.measure, "value": row.value,
            "threshold": row.threshold, "window_hours": row.window_hours,
            "agent": row.agent or None, "started_by": row.person or None,
            "fired_at": fired_at.isoformat().replace("+00:00", "Z"),
        },
    )  # fmt: skip
