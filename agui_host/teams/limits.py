"""Limits: how much a team may use. Values only; each is enforced in one place (docs/limits.md)."""

from dataclasses import dataclass, fields
from uuid import UUID

from django.conf import settings

from agui_host.backends import work
from agui_host.protocol.errors import HostError
from agui_host.teams.models import Team, TeamLimits


class LimitReached(HostError):
    """The team has reached one of its limits; try again later."""

    code = "limit_reached"
    status = 429
    close = 4429

    @classmethod
    def of(cls, limit: str, most: int, *, after: float) -> "LimitReached":
        """The limit of ``most`` was reached; another try can succeed ``after`` seconds."""
        return cls(
            f"The team has reached its limit of {most:,} for {limit}; try again later.",
            details={"limit": limit, "max": most},
            headers={"Retry-After": _whole(after)},
        )


class BudgetExceeded(LimitReached):
    """A budget of the team is spent; it begins again with its next period, or is raised."""

    code = "budget_exceeded"

    @classmethod
    def until(cls, budget: str | None, after: float | None) -> "BudgetExceeded":
        """``budget`` is spent, and begins again ``after`` seconds; None if it never does."""
        headers = {} if after is None else {"Retry-After": _whole(after)}
        return cls(details={"budget": budget}, headers=headers)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one team; 0 is no limit."""

    concurrent_runs: int
    queued_runs: int
    runs_per_minute: int
    events_per_second: int
    event_bytes: int
    run_seconds: int
    open_streams: int
    stored_bytes: int
    retention_days: int


NAMES = tuple(field.name for field in fields(Limits))


def default(name: str) -> int:
    """The value for a team without its own."""
    return int(getattr(settings, f"AGUI_LIMIT_{name.upper()}"))


def limits_of(team: Team | UUID) -> Limits:
    """The team's own values, and the settings' values for the rest.

    Values loaded with the team (``select_related("team__limits")``) are not read again.
    """
    own = _own(team)
    values = {name: getattr(own, name, None) for name in NAMES}
    return Limits(**{n: default(n) if value is None else value for n, value in values.items()})


def at_hand(team: Team) -> Limits | None:
    """``limits_of`` a team that was loaded together with its values; else None."""
    return limits_of(team) if "limits" in team._state.fields_cache else None


def refuse_work(team: UUID | str) -> None:
    """Raise LimitReached while the team, or a link's address, is in debt in this process."""
    if seconds := work.debt(team):
        raise LimitReached.of("work", work.SHARE, after=seconds)


def _whole(seconds: float) -> str:
    return str(max(1, int(seconds + 0.999)))


def _own(team: Team | UUID) -> TeamLimits | None:
    if isinstance(team, Team) and "limits" in team._state.fields_cache:
        came_along: TeamLimits | None = team._state.fields_cache["limits"]
        return came_along
    return TeamLimits.objects.filter(team=team).first()
