"""A budget that reaches 80 %: one notice in its period, told to whom it concerns."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import close_old_connections, connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import Membership, Role
from runs.access.budgets import manage
from runs.access.notices import warnings
from runs.lifecycle.budgets import spending
from runs.lifecycle.webhooks import payloads
from runs.models import Budget, Notice, Run, Spent, Thread, Webhook, WebhookDelivery
from runs.worker.notices.pushing import Pusher, warning
from tests.asgi import ask_now
from tests.cast import Actor, Cast, start

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/api/v1/budgets"


def made(actor: Actor, scope: str = "team", of: str = "", tokens: int = 100, **more: Any) -> Budget:
    body = {"scope": scope, "tokens": tokens, **more} | ({"of": of} if of else {})
    answer = ask_now("POST", LIST, actor.headers, json=body)
    assert answer.status == 201, answer.body
    return Budget.objects.for_team(actor.team).get(pk=answer.json["id"])


def spend(budget: Budget, tokens: int) -> None:
    """As the end of a run leaves it, and then counted."""
    spent = Spent(team=budget.team, run_id=UUID(int=1), keys=[budget.key], tokens=tokens, cost=0)
    spent.save(force_insert=True)
    spending.settle(budget.team_id)


def notices(budget: Budget) -> list[Notice]:
    return list(Notice.objects.for_team(budget.team).filter(subject=budget.pk))


def hook(actor: Actor, **more: Any) -> Webhook:
    values = {"url": "https://example.com/", "events": ["budget.warned"], **more}
    answer = ask_now("POST", "/api/v1/webhooks", actor.headers, json=values)
    assert answer.status == 201, answer.body
    return Webhook.objects.for_team(actor.team).get(pk=answer.json["id"])


def messages_to(webhook: Webhook) -> list[dict[str, Any]]:
    rows = WebhookDelivery.objects.for_team(webhook.team).filter(webhook=webhook)
    return [json.loads(payloads.body(row, None, False) or b"null") for row in rows]


@pytest.mark.parametrize(("used", "state"), [(79, "ok"), (80, "warning"), (99, "warning"),
                                             (100, "spent"), (250, "spent")])  # fmt: skip
def test_it_warns_exactly_when_its_state_says_so(cast: Cast, used: int, state: str) -> None:
    budget = made(cast.alice)
    spend(budget, used)
    budget.refresh_from_db()
    assert (manage.state(budget), len(notices(budget))) == (state, int(state != "ok"))


def test_once_in_a_period_also_when_many_runs_end_at_once(cast: Cast) -> None:
    budget, webhook = made(cast.alice, period="day"), hook(cast.alice)

    def end(_: int) -> None:
        try:
            spend(budget, 10)
        finally:
            close_old_connections()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(end, range(16)))
    (notice,) = notices(budget)
    (message,) = messages_to(webhook)
    assert message["type"] == "budget.warned"
    assert message["data"]["budget"] == str(budget.pk)
    assert message["data"]["max"] == 100
    assert message["data"]["links"]["page"].endswith("/budgets/")
    assert "team acme" in warnings.words(notice).text
    # A new period begins: the spending of the day before no longer counts.
    Budget.objects.for_team(cast.team).update(
        since="2020-01-01T00:00Z", warned_since="2020-01-01T00:00Z"
    )
    spend(budget, 10)
    assert len(notices(budget)) == 1
    spend(budget, 75)
    assert len(notices(budget)) == 2


@given(steps=st.lists(st.one_of(st.integers(-60, 60), st.sampled_from(["raise", "period"]))))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_order_of_spending_warns_twice_for_one_amount(cast: Cast, steps: list[Any]) -> None:
    budget = made(cast.alice, period="day")
    most = 1
    for step in steps:
        if step == "raise":
            ask_now("PATCH", f"{LIST}/{budget.pk}", cast.alice.headers,
                    json={"tokens": int(Budget.objects.for_team(cast.team).get(pk=budget.pk).max) * 2})  # noqa: E501  # fmt: skip
            most += 1
        elif step == "period":
            earlier = f"20{10 + most:02}-01-01T00:00Z"
            row = Budget.objects.for_team(cast.team).filter(pk=budget.pk)
            row.filter(warned_since=None).update(since=earlier)
            row.exclude(warned_since=None).update(since=earlier, warned_since=earlier)
            spending.settle(cast.team.pk)
            most += 1
        else:
            spend(budget, step)
        budget.refresh_from_db()
        assert len(notices(budget)) <= most
        if manage.state(budget) != "ok":
            assert budget.warned_since == budget.since


def test_a_change_of_the_amount_warns_and_a_raise_lets_it_warn_again(cast: Cast) -> None:
    budget = made(cast.alice)
    spend(budget, 50)
    for tokens, number in ((60, 1), (55, 1), (200, 1), (60, 2)):
        ask_now("PATCH", f"{LIST}/{budget.pk}", cast.alice.headers, json={"tokens": tokens})
        assert len(notices(budget)) == number, tokens
    assert notices(made(cast.alice, tokens=0)) == []


def test_the_chore_counts_what_no_report_has_counted(cast: Cast) -> None:
    budget = made(cast.alice)
    Spent.objects.create(team=cast.team, run_id=UUID(int=1), keys=[budget.key], tokens=90, cost=0)
    assert spending.settle_all(float("inf")) >= 1
    assert len(notices(budget)) == 1


def test_a_private_thread_is_told_of_only_to_its_owner(cast: Cast) -> None:
    """Neither admins who do not see it, nor their webhooks, nor those for other agents."""
    Membership.objects.filter(user=cast.bob.user).update(role=Role.ADMIN)
    run: Run = start(cast.alice, threadId="secret")
    Thread.objects.filter(pk=run.thread_id).update(
        visibility="private", creator=cast.alice.principal.actor_id
    )
    for actor in (cast.alice, cast.bob):
        EmailAddress.objects.create(
            user=actor.user, email=f"{actor.user.username}@example.com", verified=True
        )
    bobs = hook(Actor(cast.bob.user, cast.team, Role.ADMIN, cast.alice.key, ""))
    Webhook.objects.filter(pk=bobs.pk).update(creator=f"user:{cast.bob.user.pk}")
    mine, other = hook(cast.alice), hook(cast.alice, agents=["echo"])
    Webhook.objects.filter(pk=mine.pk).update(creator=cast.alice.principal.actor_id)
    row = Budget.objects.create(
        team=cast.team, scope="run", of="r", key=run.pk, unit="tokens", max=10, created_by="x"
    )
    spend(row, 9)
    team_wide = made(cast.alice, tokens=10)
    spend(team_wide, 9)
    of_agent = made(cast.alice, "agent", "echo", 10)
    spend(of_agent, 9)
    scopes = [{message["data"]["scope"] for message in messages_to(w)} for w in (bobs, mine, other)]
    assert scopes == [{"team", "agent"}, {"run", "team", "agent"}, {"agent"}]
    taken = warnings.take()
    with CaptureQueriesContext(connection) as for_three:
        mails = warnings.written(cast.team, taken)
    with CaptureQueriesContext(connection) as for_one:
        warnings.written(cast.team, taken[:1])
    assert len(for_three) == len(for_one), "as many queries, however many notices"
    assert {m.to[0]: m.body.count("budget of") for m in mails} == {
        "alice@example.com": 3, "bob@example.com": 2,
    }  # fmt: skip
    assert warnings.take() == []
    assert [len(warnings.standing(a.principal)) for a in (cast.alice, cast.vera)] == [3, 0]


def test_many_budgets_of_threads_take_as_many_queries_as_one(cast: Cast) -> None:
    counts = set()
    for number in range(3):
        run = start(cast.alice, threadId=f"t{number}")
        for scope in ("thread", "run"):
            made(cast.alice, scope, str(run.pk if scope == "run" else run.thread_id))
        with CaptureQueriesContext(connection) as queries:
            assert len(manage.visible(cast.bob.principal)) == 2 * (number + 1)
        counts.add(len(queries))
    assert len(counts) == 1


async def test_a_worker_mails_it_once(cast: Cast) -> None:
    def prepare() -> None:
        EmailAddress.objects.create(user=cast.alice.user, email="alice@example.com", verified=True)
        spend(made(cast.alice), 90)

    await db(prepare)
    for _ in range(2):
        pusher = Pusher()
        await asyncio.gather(*await pusher.tell())
        await pusher.close()
    (mailed,) = mail.outbox
    assert mailed.subject.startswith("90 % of the budget of 100 tokens is used")
    assert "/budgets/" in mailed.body


def test_what_a_browser_shows() -> None:
    content = json.loads(warning(warnings.Words("90 % of it is used (team acme)", "/budgets/")))
    assert (content["title"], content["url"]) == ("90 % of it is used", "/budgets/")
