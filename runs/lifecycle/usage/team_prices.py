"""The prices of a team: its own, and those of ``AGUI_PRICES`` for other models."""

import time
from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

from django.conf import settings
from django.db import transaction

from agui_host import prices
from agui_host.backends.postgres.bridge import db_read
from agui_host.prices import Price, Prices
from agui_host.protocol.errors import Invalid
from agui_host.teams import audit
from agui_host.teams.actors import Acting
from agui_host.teams.models import Team
from runs.models import ModelPrice

FRESH = 30.0
"""Seconds for which a process does not read a team's prices again."""
MOST = 200
"""Prices of one team."""
MOST_TEAMS = 10_000
_read: dict[UUID, tuple[float, Prices]] = {}


def of(team_id: UUID) -> Prices:
    """The prices by which the team's runs are charged now; at most ``FRESH`` seconds old."""
    team = _at_hand(team_id)
    return _load(team_id) if team is None else team


async def loaded(team_id: UUID) -> Prices:
    """``of`` for an event loop."""
    team = _at_hand(team_id)
    return await db_read(_load, team_id) if team is None else team


def _at_hand(team_id: UUID) -> Prices | None:
    until, team = _read.get(team_id, (0.0, usual()))
    return team if time.monotonic() < until else None


def own(team: Team) -> list[ModelPrice]:
    """The team's own prices, by model."""
    return list(ModelPrice.objects.for_team(team).order_by("model"))


def usual() -> Prices:
    """The prices of ``AGUI_PRICES``."""
    return _parsed(tuple(settings.AGUI_PRICES))


def replace(by: Acting, team: Team, target: Mapping[str, Price]) -> None:
    """Make these the team's own prices, for runs that end from now on. Raises Invalid."""
    if len(target) > MOST:
        raise Invalid(f"A team can have at most {MOST} prices of its own.")
    with transaction.atomic():
        ModelPrice.objects.for_team(team).delete()
        ModelPrice.objects.bulk_create(
            ModelPrice(
                team=team,
                model=model,
                input=price.input,
                output=price.output,
                cached=price.cached,
            )
            for model, price in target.items()
        )
        audit.record(by, team, "prices.changed", str(team.pk), models=sorted(target))
        transaction.on_commit(lambda: _read.pop(team.pk, None))


@lru_cache(4)
def _parsed(entries: tuple[str, ...]) -> Prices:
    return prices.parse(entries)


def _load(team_id: UUID) -> Prices:
    rows = ModelPrice.objects.filter(team=team_id)
    team = usual() | Prices({row.model: row.price for row in rows})
    if len(_read) >= MOST_TEAMS:
        _read.clear()
    _read[team_id] = (time.monotonic() + FRESH, team)
    return team
