"""The backstop: what teams own is not queried without a team, unless the code says why."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Count

from agui_host.teams.models import ApiKey, Membership, Team
from agui_host.teams.tenancy import Unscoped, operator_code
from runs.models import Interrupt, Run, Thread
from tests.conftest import ROOT

pytestmark = pytest.mark.django_db


def house(code: str, **names: Any) -> Any:
    """What an expression comes to when a module of the house evaluates it."""
    compiled = compile(code, str(ROOT / "runs" / "somewhere.py"), "eval")
    return eval(compiled, {**globals(), "Count": Count, **names})  # noqa: S307


@pytest.mark.parametrize(
    "code",
    [
        "list(Thread.objects.all())",
        "Thread.objects.first()",
        "Thread.objects.filter(thread_id='t').exists()",
        "Thread.objects.filter(thread_id='t').count()",
        "Thread.objects.exclude(team=team).count()",
        "Thread.objects.filter(team__slug='acme').count()",
        "list(Thread.objects.iterator())",
        "list(Thread.objects.values_list('pk'))",
        "Thread.objects.in_bulk([team.pk])",
        "Thread.objects.filter(pk=team.pk).update(thread_id='x')",
        "Thread.objects.filter(pk=team.pk).delete()",
        "Thread.objects.aggregate(n=Count('pk'))",
        "ApiKey.objects.get(prefix='abcd1234')",
        "Interrupt.objects.filter(run_id=team.pk).last()",
        "Run.objects.filter(status='queued')[:5].count()",
        "Run.objects.filter(status='queued').as_statement()",
    ],
)
def test_a_query_without_a_team_is_refused(team: Team, code: str) -> None:
    with pytest.raises(Unscoped, match="for_team"):
        house(code, team=team)


@pytest.mark.parametrize(
    "code",
    [
        "list(Thread.objects.for_team(team).filter(thread_id='t').order_by('pk').values('pk')[:3])",
        "list(Thread.objects.filter(team=team))",
        "list(Run.objects.filter(thread=thread))",
        "list(thread.runs.all())",
        "thread.runs.filter(status='queued').exists()",
        "list(user.memberships.select_related('team'))",
        "thread.team",
        "list(Thread.objects.none())",
        "list(Thread.objects.unscoped('a sweep').filter(thread_id='t'))",
        "Thread.objects.get_or_create(team=team, thread_id='u')",
        "thread.refresh_from_db()",
        "thread.delete()",
    ],
)
def test_one_with_a_team_or_a_reason_runs(team: Team, alice: User, code: str) -> None:
    thread = Thread.objects.create(team=team, thread_id="t")
    house(code, team=team, thread=thread, user=alice)


def test_a_block_of_operators_code_may_look_at_all(team: Team, alice: User) -> None:
    with operator_code("a test"):
        assert house("Membership.objects.count()", Membership=Membership) == 1
    with pytest.raises(Unscoped):
        house("Membership.objects.count()", Membership=Membership)


def test_a_subquery_counts_for_the_query_around_it(team: Team) -> None:
    inner = "Run.objects.filter(status='queued').values('thread')"
    house(f"list(Thread.objects.for_team(team).filter(pk__in={inner}))", team=team)


def test_a_test_may_look_at_what_came_of_it(team: Team) -> None:
    looks: list[Callable[[], object]] = [Thread.objects.count, Run.objects.first]
    assert [look() for look in looks] == [0, None]
    assert ApiKey.objects.count() == Interrupt.objects.count() == 0
