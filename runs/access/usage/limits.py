"""Usage: how much of its limits a team uses right now."""

from typing import NamedTuple

from django.db.models import Sum

from agui_host.backends import stream_limit
from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor
from agui_host.teams.limits import NAMES, Limits, limits_of
from agui_host.teams.models import Team
from runs.lifecycle import admission
from runs.models import ADMITTED, WAITING, EndedRun, Run, TeamUsage


class Use(NamedTuple):
    """A limit: ``max`` is None without a limit, ``used`` is None for limits of a single run."""

    name: str
    max: int | None
    used: int | None


def of(team: Team) -> list[Use]:
    """Every limit of the team, and how much of it is used."""
    limits, used = limits_of(team), _used(team)
    return [Use(name, _value(limits, name), used.get(name)) for name in NAMES]


def _value(limits: Limits, name: str) -> int | None:
    return getattr(limits, name) or None


def _used(team: Team) -> dict[str, int | None]:
    runs = Run.objects.for_team(team)
    admitted = runs.filter(ADMITTED)
    since = uuid7_floor(clock.seconds() - admission.MINUTE)
    counted = TeamUsage.objects.filter(team=team).values_list("stored_bytes", flat=True).first()
    ended = EndedRun.objects.filter(team=team).aggregate(bytes=Sum("bytes"))["bytes"]
    return {
        "concurrent_runs": admitted.count(),
        "queued_runs": runs.filter(WAITING).count(),
        "runs_per_minute": runs.filter(journal_id__gt=since).count(),
        "open_streams": stream_limit.count(team.pk),
        "stored_bytes": (counted or 0) + (ended or 0),
    }
