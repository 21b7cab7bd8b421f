"""The figures of tools: of stored calls, whatever was counted before, changed or erased."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agui_host.backends.postgres import clock
from runs.access import sharing
from runs.access.insight import tools
from runs.access.usage.figures import DAY, day_of
from runs.lifecycle.deletion import retention
from runs.lifecycle.insight import storing, tool_days
from runs.models import Run, Thread, ToolCall, ToolChange, ToolDay, Visibility
from tests.cast import Actor, Cast, Register
from tests.runs.insight.conftest import asks, call, ran

pytestmark = pytest.mark.django_db(transaction=True)
Figures = dict[str, tuple[int, int, int, dict[int, int], list[str]]]


def figures_of(actor: Actor, since: datetime) -> Figures:
    return {
        row.name: (row.calls, row.failed, row.doubles, row.took, row.agents)
        for row in tools.by_tool(actor.principal, since)
    }


def mark_all(cast: Cast) -> None:
    days = {day_of(at).date() for at in ToolCall.objects.of_any_team().values_list("at", flat=True)}
    ToolChange.objects.bulk_create(ToolChange(team=cast.team, day=day) for day in days)


def recounted(cast: Cast, actors: list[Actor], since: datetime) -> list[Figures]:
    """The figures without any stored ones, which are there again afterwards."""
    copies = list(ToolDay.objects.all()), list(ToolChange.objects.all())
    mark_all(cast)
    figures = [figures_of(actor, since) for actor in actors]
    ToolDay.objects.all().delete()
    ToolChange.objects.all().delete()
    ToolDay.objects.bulk_create(copies[0])
    ToolChange.objects.bulk_create(copies[1])
    return figures


def hide(run: Run, actor: Actor) -> None:
    rows = Thread.objects.filter(pk=run.thread_id, team=run.team)
    rows.update(visibility=Visibility.PRIVATE, creator=actor.principal.actor_id)


def spread(cast: Cast, rnd: random.Random) -> list[Run]:
    """Runs with calls at any hour of the latest ten days, some in private threads."""
    runs = []
    for number in range(12):
        made = [
            call(f"c{n}", f'{{"n": {rnd.randint(0, 2)}}}', rnd.choice(["{}", "Error: no"]),
                 name=rnd.choice(["charge", "look"]))
            for n in range(3)
        ]  # fmt: skip
        actor = rnd.choice([cast.alice, cast.bob])
        runs.append(ran(actor, *made, threadId=f"t-{number}", **asks("one")))
        if rnd.random() < 0.3:
            hide(runs[-1], actor)
    storing.run_once(20)
    for row in ToolCall.objects.of_any_team():
        back = timedelta(hours=rnd.randint(0, 240))
        values: dict[str, Any] = {"at": row.at - back, "took_ms": rnd.choice([None, 5, 50, 5000])}
        ToolCall.objects.of_any_team().filter(pk=row.pk).update(**values)
    mark_all(cast)  # the time of a stored call does not change elsewhere
    return runs


@pytest.mark.parametrize("seed", range(4))
def test_stored_figures_are_those_of_a_recount(cast: Cast, seed: int) -> None:
    rnd, actors = random.Random(seed), [cast.alice, cast.bob, cast.vera]
    runs = spread(cast, rnd)
    since = day_of(clock.now()) - 6 * DAY + timedelta(hours=rnd.choice([0, 7]))
    steps: list[Callable[[], object]] = [
        lambda: tool_days.count(cast.team.pk),
        lambda: tool_days.run_once(5),
        lambda: retention.purge_run(rnd.choice(runs)),
        lambda: hide(rnd.choice(runs), rnd.choice([cast.alice, cast.bob])),
        lambda: storing.run_once(5),
    ]
    for _ in range(12):
        rnd.choice(steps)()
        figures = [figures_of(actor, since) for actor in actors]
        assert figures == recounted(cast, actors, since)
    tool_days.run_once(5)
    assert ToolDay.objects.exists()
    assert set(ToolChange.objects.values_list("day", flat=True)) <= {clock.now().date()}


def test_a_shared_run_of_a_private_thread_counts(cast: Cast) -> None:
    run = ran(cast.bob, call("a"))
    hide(run, cast.bob)
    storing.run_once(20)
    ToolCall.objects.of_any_team().update(at=clock.now() - 2 * DAY)
    tool_days.run_once(5)
    since = day_of(clock.now()) - 6 * DAY
    assert figures_of(cast.alice, since) == {}
    sharing.share(cast.bob.principal, run, sharing.To(member="alice"), sharing.Terms())
    assert figures_of(cast.alice, since)["charge"][0] == 1


def test_one_mark_of_the_present_day_is_enough(cast: Cast) -> None:
    for name in "abc":
        ran(cast.alice, call(name), threadId=name)
        storing.run_once(20)
    assert ToolChange.objects.count() > 1
    assert tool_days.run_once(5) == 0
    assert ToolChange.objects.count() == 1


def test_durations(cast: Cast) -> None:
    run = ran(cast.alice, call("a"), call("b"), call("c", "{}", "Error: no", name="look"))
    storing.run_once(20)
    for place, row in enumerate(ToolCall.objects.of_any_team().filter(name="charge")):
        ToolCall.objects.of_any_team().filter(pk=row.pk).update(took_ms=100 * place)
    first, second = tools.by_tool(cast.vera.principal, run.created_at)
    assert (first.name, first.calls, first.failed, first.doubles) == ("charge", 2, 0, 1)
    assert (second.name, second.calls, second.failed, second.doubles) == ("look", 1, 1, 0)
    assert (first.p50, first.p95) == (pytest.approx(1, rel=0.06), pytest.approx(100, rel=0.06))
    assert first.agents == ["echo"]


def test_a_key_for_some_agents_counts_theirs(cast: Cast, register: Register) -> None:
    run = ran(cast.alice, call("a"))
    ran(cast.alice, call("b"), agent=register("other", lambda ctx: ctx.text), threadId="o")
    storing.run_once(20)
    principal = replace(cast.vera.principal, agents=frozenset(["echo"]))
    [tool] = tools.by_tool(principal, run.created_at)
    assert (tool.calls, tool.agents) == (1, ["echo"])
