"""What a worker knows of agents and teams is as new as its fetch says, and nobody's to change."""

from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from agui_host.runtimes.models import Agent
from agui_host.teams.limits import limits_of
from agui_host.teams.models import Team, TeamLimits
from runs.lifecycle.statements import known_rows
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)


def version(row: Any) -> str:
    with connection.cursor() as cursor:
        cursor.execute("select xmin::text from runtimes_agent where id = %s", [row.pk])
        text: str = cursor.fetchone()[0]
        return text


def test_an_agent_is_read_again_once_it_has_changed(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    row = Agent.objects.for_team(cast.team).get(slug="echo")
    first = version(row)
    assert known_rows.agent(row.pk, first).name == row.name
    with django_assert_num_queries(0):
        assert known_rows.agent(row.pk, first).name == row.name
    row.name = "Another name"
    row.save()
    assert version(row) != first
    assert known_rows.agent(row.pk, version(row)).name == "Another name"


def test_what_a_run_changes_in_its_agent_is_its_own(cast: Cast) -> None:
    row = Agent.objects.for_team(cast.team).get(slug="echo")
    row.settings = {"members": ["a"]}
    row.save()
    one = known_rows.agent(row.pk, version(row))
    one.settings["members"].append("b")
    one.name = "Changed"
    other = known_rows.agent(row.pk, version(row))
    assert (other.settings, other.name) == ({"members": ["a"]}, row.name)


def test_a_team_comes_with_its_limits(cast: Cast) -> None:
    team = known_rows.team(cast.team.pk, "1.")
    TeamLimits.objects.create(team=Team.objects.get(pk=cast.team.pk), run_seconds=7)
    assert limits_of(team).run_seconds != 7
    assert limits_of(known_rows.team(cast.team.pk, "1.2")).run_seconds == 7
