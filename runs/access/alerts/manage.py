"""A team's alerts as callers manage them: permission, limits, and the audit log."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.models import Agent
from agui_host.teams import audit
from agui_host.teams.access import members
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access.alerts import checking, selection
from runs.access.inspect import saved_views
from runs.models import Alert, AlertState, Measure, Notice

LONGEST_SNOOZE = timedelta(days=30)
LONGEST_WINDOW = 24 * 30
"""Hours."""
LARGEST = 1e12
"""Of a threshold."""
LONGEST_PERSON = 200
"""Characters; a saved view can have more."""
FIELDS = ("name", "measure", "threshold", "window_hours", "least_runs", "agent", "person", "query",
          "tell", "enabled")  # fmt: skip
OF_FAILURES = (Measure.FAILED_RUNS, Measure.FAILURE_RATE)
OF_RUNS = (*OF_FAILURES, Measure.P95_DURATION, Measure.COST, Measure.RUNS)
"""The measures that can have any filter of runs."""
FILTERS = {"agent": "agent", "started_by": "person"}
"""The filters of a saved view for which an alert has fields."""


class AlertsFull(Conflict):
    """The team has as many alerts as this host allows; remove one first."""

    code = "alerts_full"


def visible(principal: Principal) -> TeamQuerySet[Alert]:
    """The team's alerts; for a key of some agents those about one of them. Raises Forbidden."""
    principal.require("view_team")
    rows: TeamQuerySet[Alert] = Alert.objects.for_team(principal.team)
    return rows if principal.agents is None else rows.filter(agent__in=list(principal.agents))


def find(principal: Principal, alert_id: UUID) -> Alert:
    """One of them. Raises NotFound, Forbidden."""
    if (row := visible(principal).filter(pk=alert_id).first()) is None:
        raise NotFound("There is no such alert.")
    return row


def history(principal: Principal, alert_id: UUID) -> TeamQuerySet[Notice]:
    """When an alert has fired and was resolved. Raises NotFound, Forbidden."""
    row = find(principal, alert_id)
    rows: TeamQuerySet[Notice] = Notice.objects.for_team(row.team).filter(subject=row.pk)
    return rows


def create(principal: Principal, values: Mapping[str, Any]) -> Alert:
    """A new alert; ``view`` is the id of a saved view whose filters it takes.

    Raises Forbidden, Invalid, NotFound, AlertsFull.
    """
    principal.require("manage_alerts")
    with members.holding(principal) as current:
        current.require("manage_alerts")
        if Alert.objects.for_team(current.team).count() >= settings.AGUI_ALERTS_MAX:
            raise AlertsFull(details={"max": settings.AGUI_ALERTS_MAX})
        row = Alert(team=current.team, created_by=principal.label)
        _set(current, row, values)
        row.save(force_insert=True)
        audit.record(
            principal, current.team, "alert.created", str(row.pk), name=row.name,
            measure=row.measure, threshold=row.threshold,
        )  # fmt: skip
    row.refresh_from_db()
    return row


def change(principal: Principal, alert_id: UUID, values: Mapping[str, Any]) -> Alert:
    """Set the members of ``values``; a change of its terms resolves a firing alert.

    Raises as ``create``.
    """
    with members.holding(principal) as current:
        row = _locked(current, alert_id)
        before = [getattr(row, name) for name in FIELDS if name not in ("name", "tell")]
        _set(current, row, values)
        after = [getattr(row, name) for name in FIELDS if name not in ("name", "tell")]
        fired_at = row.fired_at
        if before != after:
            row.state, row.fired_at, row.calm_since = AlertState.OK.value, None, None
            row.value, row.checked_at = None, None
        row.save()
        if fired_at is not None and row.state == AlertState.OK:
            checking.tell(row, fired_at, quietly=row.is_snoozed)
        audit.record(principal, current.team, "alert.changed", str(row.pk), fields=sorted(values))
    return row


def snooze(principal: Principal, alert_id: UUID, until: datetime | None) -> Alert:
    """Tell nothing about an alert until then; None: tell again. Raises as ``change``."""
    with members.holding(principal) as current:
        row = _locked(current, alert_id)
        if until is not None and not clock.now() < until <= clock.now() + LONGEST_SNOOZE:
            raise Invalid(
                f"An alert is snoozed until a time within {LONGEST_SNOOZE.days} days.",
                details={"path": "until"},
            )
        row.snoozed_until = until
        row.save(update_fields=["snoozed_until"])
        audit.record(
            principal, current.team, "alert.snoozed", str(row.pk),
            until=until and until.isoformat(),
        )  # fmt: skip
    return row


def remove(principal: Principal, alert_id: UUID) -> None:
    """Delete an alert with its history. Raises NotFound, Forbidden."""
    with members.holding(principal) as current:
        row = _locked(current, alert_id)
        Notice.objects.for_team(row.team).filter(subject=row.pk).delete()
        row.delete()
        audit.record(principal, current.team, "alert.deleted", str(alert_id))


def _locked(principal: Principal, alert_id: UUID) -> Alert:
    find(principal, alert_id)
    principal.require("manage_alerts")
    rows = visible(principal).select_for_update(no_key=True, of=("self",))
    if (row := rows.filter(pk=alert_id).first()) is None:
        raise NotFound("There is no such alert.")
    return row


def _set(principal: Principal, row: Alert, values: Mapping[str, Any]) -> None:
    filters = _of_view(principal, values) if values.get("view") else {}
    for name, value in {**filters, **values}.items():
        if name in FIELDS:
            setattr(row, name, value)
    for name in ("name", "person"):
        if not getattr(row, name).isprintable():
            raise Invalid(f"The {name} contains a control character.", details={"path": name})
    if len(row.person) > LONGEST_PERSON:
        raise Invalid("A person or key has a shorter name.", details={"path": "started_by"})
    if not 0 < row.threshold <= LARGEST:  # NaN is in no range.
        raise Invalid("The threshold is a number above 0.", details={"path": "threshold"})
    if row.agent and not (
        principal.may_use(row.agent)
        and Agent.objects.for_team(principal.team).filter(slug=row.agent).exists()
    ):
        raise Invalid(f"There is no agent {row.agent!r}.", details={"path": "agent"})
    if not row.agent and principal.agents is not None:
        raise Invalid("This key is for some agents only; name one.", details={"path": "agent"})
    if row.query and row.measure not in OF_RUNS:
        raise Invalid(
            "This measure has no other filters than agent and started_by.",
            details={"path": "view"},
        )
    if row.measure == Measure.P95_DURATION and row.person and not row.query:
        raise Invalid(
            "Durations are not kept by person; leave out started_by.",
            details={"path": "started_by"},
        )
    if not row.window_hours and row.measure != Measure.WAITING_QUESTIONS:
        raise Invalid("Only questions have a window of 0.", details={"path": "window_hours"})


def _of_view(principal: Principal, values: Mapping[str, Any]) -> dict[str, str]:
    """The filters of a saved view. Raises NotFound, and Invalid for filters without sense."""
    filters = selection.filters_of(saved_views.find(principal, values["view"]).query)
    fields = {field: filters.pop(name)[-1] for name, field in FILTERS.items() if name in filters}
    if values.get("measure") in OF_FAILURES and filters.get("status") == ["failed"]:
        del filters["status"]  # they count these alone
    return fields | {"query": selection.text(filters)}
