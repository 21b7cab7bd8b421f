"""The present value of an alert, from the usage of its team.

Only threads of the team count: an alert is seen by everyone in the team, and must not tell of
private threads. Usage is kept by hours, so a window begins with one.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from agui_host.backends.postgres import clock
from runs.access.alerts import selection
from runs.access.usage import figures
from runs.access.usage.figures import HOUR, Period, Reach
from runs.models import (
    Alert,
    Called,
    Interrupt,
    InterruptStatus,
    Measure,
    Status,
    ToolCall,
    Visibility,
)

SHARED_THREADS = ""
"""No person's private threads."""
# An end user without the key's prefix is that of any key.
OF_PERSON = """(total.person = %(person)s or total.person like 'end:%%'
    and regexp_replace(total.person, '@[^@]*$', '') = %(person)s)"""


def value_of(alert: Alert) -> float | None:
    """The value now; None if there were fewer than ``least_runs`` runs in the window."""
    if alert.measure == Measure.WAITING_QUESTIONS:
        return float(_questions(alert))
    if alert.query:
        return _of_view(alert)
    if alert.measure == Measure.P95_DURATION:
        return _p95(alert)
    if alert.measure == Measure.DOUBLE_CALLS:
        return float(_doubles(alert))
    period = _period(alert)
    # A person's rows are the finest: the keys decide which are read.
    keys = {"person": "total.person"} if alert.person else {"whole": "1"}
    more = OF_PERSON if alert.person else "true"
    sums = [
        row
        for part in period.parts()
        for row in figures.rows(
            _reach(alert), keys, part, measures=("runs", "failed", "cost"), more=more,
            person=alert.person,
        )
    ]  # fmt: skip
    runs, failed = sum(row["runs"] for row in sums), sum(row["failed"] for row in sums)
    if alert.measure == Measure.COST:
        return float(sum(row["cost"] for row in sums))
    if alert.measure in (Measure.FAILED_RUNS, Measure.RUNS):
        return float(failed if alert.measure == Measure.FAILED_RUNS else runs)
    return 100 * failed / runs if runs >= alert.least_runs else None


def _of_view(alert: Alert) -> float | None:
    """The value over the runs that pass the filters of the alert's view."""
    own = selection.text({"agent": [alert.agent], "started_by": [alert.person]})
    rows = selection.read(alert.team, f"{alert.query}&{own}", since(alert))
    failed = sum(row.status == Status.FAILED for row in rows)
    match alert.measure:
        case Measure.RUNS:
            return float(len(rows))
        case Measure.FAILED_RUNS:
            return float(failed)
        case Measure.COST:
            return sum(row.cost for row in rows)
        case _ if len(rows) < alert.least_runs:
            return None
        case Measure.P95_DURATION:
            return selection.p95(rows)
    return 100 * failed / len(rows)


def _p95(alert: Alert) -> float | None:
    counts = figures.buckets(_reach(alert), _period(alert))
    if sum(counts.values()) < alert.least_runs:
        return None
    milliseconds = figures.percentile(counts, 0.95)
    return None if milliseconds is None else milliseconds / 1000


def _questions(alert: Alert) -> int:
    """The open questions that have waited for the alert's hours."""
    before = clock.now() - timedelta(hours=alert.window_hours)
    rows = Interrupt.objects.for_team(alert.team).filter(
        status=InterruptStatus.OPEN, created_at__lte=before, thread__visibility=Visibility.TEAM
    )
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=clock.now()))
    if alert.agent:
        rows = rows.filter(run__agent__slug=alert.agent)
    if alert.person:
        rows = rows.filter(run__started_by=alert.person)
    return rows.count()


def _doubles(alert: Alert) -> int:
    """The calls whose effect has perhaps happened twice: retries of failed ones are none."""
    rows = ToolCall.objects.for_team(alert.team).filter(
        double__in=(Called.OK, Called.NONE), at__gte=since(alert), owner=SHARED_THREADS
    )
    if alert.agent:
        rows = rows.filter(agent__slug=alert.agent)
    if alert.person:
        rows = rows.filter(run__started_by=alert.person)
    return rows.count()


def _reach(alert: Alert) -> Reach:
    return Reach(alert.team_id, [alert.agent] if alert.agent else None, SHARED_THREADS)


def since(alert: Alert) -> datetime:
    """The beginning of the alert's window: that of an hour."""
    return figures.hour_of(clock.now() - timedelta(hours=alert.window_hours))


def _period(alert: Alert) -> Period:
    return Period(since(alert), figures.hour_of(clock.now()) + HOUR)
