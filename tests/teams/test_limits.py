"""A team's limits: the settings' values, unless an operator gave it its own."""

import pytest
from django.conf import settings

from agui_host.teams.limits import NAMES, LimitReached, limits_of
from agui_host.teams.models import Team, TeamLimits

pytestmark = pytest.mark.django_db


def test_a_team_without_its_own_has_those_of_the_settings(team: Team) -> None:
    limits = limits_of(team)
    for name in NAMES:
        assert getattr(limits, name) == getattr(settings, f"AGUI_LIMIT_{name.upper()}")


def test_its_own_count_one_by_one_and_zero_is_none(team: Team, other_team: Team) -> None:
    TeamLimits.objects.create(team=team, concurrent_runs=3, queued_runs=0)
    limits = limits_of(team.pk)
    assert (limits.concurrent_runs, limits.queued_runs) == (3, 0)
    assert limits.open_streams == settings.AGUI_LIMIT_OPEN_STREAMS
    assert limits_of(other_team).concurrent_runs == settings.AGUI_LIMIT_CONCURRENT_RUNS


def test_every_limit_can_be_overridden() -> None:
    assert {field.name for field in TeamLimits._meta.fields} == {"team", *NAMES}


def test_the_error_names_the_limit_and_when_to_come_back() -> None:
    error = LimitReached.of("queued_runs", 7, after=0.2)
    assert (error.status, error.close, error.code) == (429, 4429, "limit_reached")
    assert error.details == {"limit": "queued_runs", "max": 7}
    assert error.headers == {"Retry-After": "1"}
