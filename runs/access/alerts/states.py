"""When an alert fires and when it is resolved, from its values alone; nothing here reads or writes.

A value that swings around the threshold fires once: an alert ends only after its values have been
below ``CLEARLY`` of the threshold for ``CALM`` without a break.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from runs.models import AlertState

CLEARLY = 0.9
"""An alert that fires is calm below this share of its threshold."""
CALM = timedelta(minutes=5)
"""The time of calm after which an alert is resolved."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of an alert: since when it fires, and since when it is calm."""

    state: AlertState = AlertState.OK
    fired_at: datetime | None = None
    calm_since: datetime | None = None


def after(
    before: Situation, value: float | None, threshold: float, now: datetime, *, snoozed: bool
) -> Situation:
    """The situation after a check that found ``value``, None for no runs.

    A snoozed alert does not begin to fire; it can be resolved.
    """
    if before.state == AlertState.OK:
        if value is not None and value >= threshold and not snoozed:
            return Situation(AlertState.FIRING, now)
        return Situation()
    if value is not None and value >= CLEARLY * threshold:
        return Situation(AlertState.FIRING, before.fired_at)
    calm_since = before.calm_since or now
    if now - calm_since >= CALM:
        return Situation()
    return Situation(AlertState.FIRING, before.fired_at, calm_since)
