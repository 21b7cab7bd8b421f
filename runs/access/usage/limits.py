"""Usage: how much of its limits a team uses right now."""

from collections.abc import Callable, Collection
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


def of(team: Team, names: Collection[str] = NAMES) -> list[Use]:
    """Every limit of the team, or only those of these names, and how much of it is used."""
    limits = limits_of(team)
    return [
        Use(name, _value(limits, name), COUNTS[name](team) if name in COUNTS else None)
        for name in NAMES
        if name in names
    ]


def _value(limits: Limits, name: str) -> int | None:
    return getattr(limits, name) or None


def _newest(team: Team) -> int:
    since = uuid7_floor(clock.seconds() - admission.MINUTE)
    return Run.objects.for_team(team).filter(journal_id__gt=since).count()


def _stored(team: Team) -> int:
    counted = TeamUsage.objects.filter(team=team).values_list("stored_bytes", flat=True).first()
    ended = EndedRun.objects.filter(team=team).aggregate(bytes=Sum("bytes"))["bytes"]
    return (counted or 0) + (ended or 0)


COUNTS: dict[str, Callable[[Team], int | None]] = {
    "concurrent_runs": lambda team: Run.objects.for_team(team).filter(ADMITTED).count(),
    "queued_runs": lambda team: Run.objects.for_team(team).filter(WAITING).count(),
    "runs_per_minute": _newest,
    "open_streams": lambda team: stream_limit.count(team.pk),
    "stored_bytes": _stored,
}
"""How the use of a limit is counted, by its name."""
