"""The health of an agent on its page: last runs, its rate of failures, meters and schedules."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from agui_host.runtimes.models import Agent
from agui_host.teams.models import TeamLimits
from runs.access.budgets import manage as budgets
from runs.access.schedules import manage as schedules
from runs.lifecycle.usage import rollup
from runs.models import Run, Thread, Visibility
from tests.cast import Cast, Register, register, start
from tests.dashboard.agents.test_agent_pages import page
from tests.dashboard.conftest import Browse
from tests.runs.jobs import FAILED, FINISHED
from tests.runs.usage.test_usage import run_of

__all__ = ["register"]

pytestmark = pytest.mark.django_db(transaction=True)
FACT = re.compile(r"<div><dt>([^<]+)</dt><dd>(.*?)</dd></div>", re.S)
TAG = re.compile(r"<[^>]+>")


def facts(text: str) -> dict[str, str]:
    return {name: TAG.sub("", value).strip() for name, value in FACT.findall(text)}


def private(run: Run, cast: Cast) -> None:
    Thread.objects.filter(pk=run.thread_id).update(
        visibility=Visibility.PRIVATE, creator=cast.bob.principal.actor_id
    )


def test_an_agent_without_runs(cast: Cast, browse: Browse) -> None:
    text = facts(page(browse(cast.vera), "/agents/echo/"))
    assert (text["Last success"], text["Last failure"]) == ("none", "none")
    assert (text["Failures today"], text["The 6 days before"]) == ("no runs", "no runs")


@pytest.mark.parametrize("is_added_up", [False, True])
def test_failures_today_against_the_days_before(
    cast: Cast, browse: Browse, is_added_up: bool
) -> None:
    now = timezone.now()
    for day in (1, 3, 5, 6):
        run_of(cast.alice, cast.echo, FINISHED, now - timedelta(days=day))
    run_of(cast.alice, cast.echo, FAILED, now - timedelta(days=2))
    run_of(cast.alice, cast.echo, FAILED, now - timedelta(days=8))
    success = run_of(cast.alice, cast.echo, FINISHED)
    failure = run_of(cast.alice, cast.echo, FAILED)
    private(run_of(cast.bob, cast.echo, FAILED), cast)
    if is_added_up:
        rollup.run_once(60)
    text = page(browse(cast.alice), "/agents/echo/")
    assert facts(text)["Failures today"] == "50 % of 2 runs"
    assert facts(text)["The 6 days before"] == "20 % of 5 runs"
    assert '<span class="bad">50 %</span>' in text
    for name, run in (("Last success", success), ("Last failure", failure)):
        [fact] = [value for key, value in FACT.findall(text) if key == name]
        assert f'href="/runs/{run.pk}/"' in fact
        assert "<time data-age" in fact
    assert "agent_error" in facts(text)["Last failure"]
    own = page(browse(cast.bob), "/agents/echo/")
    assert facts(own)["Failures today"] == "67 % of 3 runs"


def test_a_day_that_is_no_worse_is_not_marked(cast: Cast, browse: Browse) -> None:
    for day in (1, 2):
        run_of(cast.alice, cast.echo, FAILED, timezone.now() - timedelta(days=day))
    run_of(cast.alice, cast.echo, FAILED)
    text = page(browse(cast.alice), "/agents/echo/")
    assert "<span>100 %</span> of 1 run" in text


def test_limits_and_budgets_are_meters(cast: Cast, browse: Browse, register: Register) -> None:
    register("other", lambda ctx: ctx.text)
    TeamLimits.objects.create(team=cast.team, concurrent_runs=3)
    for scope, of in (("agent", "echo"), ("agent", "other"), ("team", ""), ("person", "alice")):
        budgets.create(
            cast.alice.principal,
            {"scope": scope, "of": of, "cost": 8, "period": "month", "at_limit": "end"},
        )
    run_of(cast.alice, cast.echo, FINISHED)
    start(cast.bob)
    text = unescape(page(browse(cast.vera), "/agents/echo/"))
    meters = re.findall(r'<meter [^>]*aria-label="([^"]+)"', text)
    assert meters[0] == "Runs at once"
    assert "1 of 3" in text
    assert len([name for name in meters if "echo" in name]) == 1
    assert not any("other" in name or "alice" in name for name in meters)
    assert text.count("$1.00 of $8.00, 12 %") == 2, "of the agent, and of the team"
    assert "Set a budget" in page(browse(cast.alice), "/agents/echo/")


def test_its_schedules_in_words(cast: Cast, browse: Browse, register: Register) -> None:
    register("other", lambda ctx: ctx.text)
    for slug, name in (("echo", "Morning <b>"), ("other", "Evening")):
        schedules.create(
            cast.bob.principal,
            {"agent": slug, "name": name, "cron": "0 7 * * 1-5", "time_zone": "Europe/Berlin"},
        )
    text = page(browse(cast.bob), "/agents/echo/")
    assert "Morning &lt;b&gt;" in text
    assert "Every weekday at 07:00, Europe/Berlin" in text
    assert "Evening" not in text
    assert "Morning" not in page(browse(cast.vera), "/agents/echo/"), "viewers see no schedules"


def test_a_stranger_sees_nothing_of_it(cast: Cast, browse: Browse) -> None:
    Agent.objects.filter(pk=cast.echo.pk).update(slug="secret")
    run_of(cast.alice, None, FAILED)
    page(browse(cast.charlie), "/agents/secret/", 404)
