"""Budgets from a file: made once, changed by difference, exported, and audited."""

from decimal import Decimal
from typing import Any

import pytest
import yaml
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.management import CommandError

from agui_host.apply import export
from agui_host.backends.postgres import clock
from agui_host.teams.models import ApiKey, AuditEntry, Membership, Team
from runs.models import Budget, BudgetScope
from tests.apply.conftest import Apply

pytestmark = pytest.mark.django_db(transaction=True)
HOST = """
teams:
  acme:
    owner: alice@example.com
    members: {bob@example.com: member}
    keys: {ci: {scopes: [run]}}
    agents: {feed: {kind: external}}
    budgets:
      - {scope: team, cost: 250.5, period: month, at_limit: ask}
      - {scope: agent, of: feed, tokens: 2000000, period: day}
      - {scope: person, of: bob@example.com, cost: 20, reserve: 0.5}
      - {scope: key, of: ci, tokens: 1000}
"""


def budgets() -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = export.content()["teams"]["acme"]["budgets"]
    return listed


def test_they_are_made_once_and_audited(apply: Apply, people: list[User]) -> None:
    planned = apply(HOST, "--plan").splitlines()
    assert not Budget.objects.exists()
    lines = apply(HOST).splitlines()
    assert (
        [line for line in planned if " budget " in line]
        == [
            "+ acme budget team cost month: 250.5",
            "+ acme budget agent feed tokens day: 2000000",
            "+ acme budget person bob@example.com cost: 20",
            "+ acme budget key ci tokens: 1000",
        ]
        == [line for line in lines if " budget " in line]
    )
    team = Team.objects.get(slug="acme")
    rows = Budget.objects.for_team(team).order_by("pk")
    assert [(row.scope, row.max, row.reserve, row.created_by) for row in rows] == [
        ("team", Decimal("250.5"), None, "operator"),
        ("agent", 2_000_000, None, "operator"),
        ("person", 20, Decimal("0.5"), "operator"),
        ("key", 1000, None, "operator"),
    ]
    assert rows[2].of == people[1].get_username()
    assert rows[3].key == f"key:{ApiKey.objects.get(team=team, name='ci').pk}"
    entries = AuditEntry.objects.for_team(team).filter(action="budget.created")
    assert {entry.who for entry in entries} == {"operator"}
    assert entries.count() == 4
    assert apply(HOST) == "No changes.\n"
    assert AuditEntry.objects.filter(action__startswith="budget.").count() == 4


def test_a_difference_is_named_and_the_spending_stays(apply: Apply, people: list[User]) -> None:
    apply(HOST)
    Budget.objects.of_any_team().filter(scope="team").update(used=17)
    other = HOST.replace("cost: 250.5", "cost: 300").replace("reserve: 0.5", "at_limit: ask")
    expected = [
        "~ acme budget team cost month max: 250.5 -> 300",
        "~ acme budget person bob@example.com cost at_limit: end -> ask",
    ]
    assert apply(other, "--plan").splitlines()[:-1] == expected
    assert apply(other).splitlines() == [*expected, "2 changes."]
    row = Budget.objects.of_any_team().get(scope="team")
    assert (int(row.max), int(row.used), row.at_limit) == (300, 17, "ask")
    changed = AuditEntry.objects.filter(action="budget.changed")
    assert [entry.who for entry in changed] == ["operator", "operator"]
    assert apply(other) == "No changes.\n"
    assert apply("teams: {acme: {budgets: []}}") == "No changes.\n", "apply removes nothing"


def test_the_export_is_such_a_file(apply: Apply, people: list[User]) -> None:
    apply(HOST)
    assert budgets() == [
        {"scope": "team", "cost": 250.5, "period": "month", "at_limit": "ask"},
        {"scope": "agent", "of": "feed", "tokens": 2_000_000, "period": "day",
         "at_limit": "end"},
        {"scope": "person", "of": "bob", "cost": 20, "reserve": 0.5, "at_limit": "end"},
        {"scope": "key", "of": "ci", "tokens": 1000, "at_limit": "end"},
    ]  # fmt: skip
    assert apply(export.text()) == "No changes.\n"


def test_equal_ones_and_those_of_people_who_left_change_nothing(
    apply: Apply, people: list[User]
) -> None:
    apply(HOST)
    row = Budget.objects.of_any_team().get(scope="agent")
    for most in (Decimal("123456789012.123456"), Decimal(7)):
        row.pk, row.unit, row.max = clock.new_id(), "cost", most
        row.save(force_insert=True)
    thread = Budget(team=row.team, scope=BudgetScope.THREAD, of="t", key="t", unit="cost", max=1)
    thread.save()
    Membership.objects.filter(user=people[1]).delete()
    ApiKey.objects.of_any_team().filter(name="ci").update(revoked=True)
    text = export.text()
    assert len(yaml.safe_load(text)["teams"]["acme"]["budgets"]) == 6, "a thread's is no part"
    assert apply(text) == "No changes.\n"


def test_one_of_a_person_without_an_account_waits(apply: Apply) -> None:
    lines = apply(HOST).splitlines()
    note = "! acme budget person bob@example.com cost: waits until bob@example.com has an account."
    assert note in lines
    assert Budget.objects.of_any_team().count() == 3
    for name in ("alice", "bob"):
        user = User.objects.create_user(name, f"{name}@example.com")
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    assert "+ acme budget person bob@example.com cost: 20" in apply(HOST).splitlines()


@pytest.mark.parametrize(
    ("budget", "line"),
    [
        ("{scope: team, cost: 1, periode: day}", "periode: there is no such member; did you mean"),
        ("{scope: team}", "set tokens or cost, one of them"),
        ("{scope: team, cost: 1, tokens: 1}", "set tokens or cost, one of them"),
        ("{scope: agent, cost: 1}", "Name what the budget is for."),
        ("{scope: agent, of: nobody, cost: 1}", "The team has nothing of this scope named"),
        ("{scope: team, cost: -1}", "cost: Input should be greater than"),
        ("{scope: team, tokens: 10000000000000000}", "tokens: Input should be less than"),
        ("{scope: team, cost: 1, period: week}", "period: Input should be 'day' or 'month'"),
        ("{scope: thread, of: t, cost: 1}", "scope: Input should be 'agent', 'team'"),
        ("{scope: team, cost: 1, at_limit: stop}", "at_limit: Input should be 'end' or 'ask'"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_made(apply: Apply, budget: str, line: str) -> None:
    with pytest.raises(CommandError) as refused:
        apply(f"teams: {{acme: {{name: Acme, budgets: [{budget}]}}}}")
    place, _, rest = str(refused.value).partition("budgets.0")
    assert place == "teams.acme."
    assert rest.removeprefix(".").removeprefix(": ").startswith(line)
    assert "\n" not in str(refused.value)
    assert not Team.objects.filter(slug="acme").exists()


def test_rules_of_a_team(apply: Apply) -> None:
    text = "teams: {acme: {key_days: 30, second_factor: true}}"
    assert "~ acme key_days: unset -> 30" in apply(text).splitlines()
    assert apply(text) == "No changes.\n"
    team = Team.objects.get(slug="acme")
    assert (team.key_days, team.second_factor) == (30, True)
    assert AuditEntry.objects.for_team(team).filter(action="team.rules").exists()
    assert apply(export.text()) == "No changes.\n"
    assert apply("teams: {acme: {key_days: null, second_factor: null}}").splitlines() == [
        "~ acme key_days: 30 -> unset", "1 changes.",
    ]  # fmt: skip
