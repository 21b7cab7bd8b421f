"""Budgets over the API: who sees and changes them, and what a spent one does to runs."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from agui_host.backends.postgres.bridge import db
from agui_host.teams.models import AuditEntry
from events.writer import JournalWriter
from runs.models import Budget, Interrupt, Run
from tests.asgi import ask_now
from tests.cast import Actor, Cast, Register, perform, start

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/api/v1/budgets"
RUNS = "/api/v1/runs"


def make(actor: Actor, scope: str = "agent", of: str = "spender", **more: Any) -> Any:
    return ask_now("POST", LIST, actor.headers, json={"scope": scope, "of": of, **more})


async def spender(ctx: Any) -> AsyncIterator[Any]:
    """Reports 60 tokens for each of its calls."""
    for number in range(int(ctx.state.get("calls", 1))):
        ctx.usage(model="m", input_tokens=50, output_tokens=10)
        yield {"type": "CUSTOM", "name": "call", "value": number}
        if number:
            await asyncio.sleep(5)


async def played(cast: Cast, writer: JournalWriter, agent: Any, calls: int = 1, **body: Any) -> Run:
    run = await db(start, cast.alice, agent, state={"calls": calls}, **body)
    return await perform(run, writer)


def read(cast: Cast, budget: str) -> dict[str, Any]:
    answer: dict[str, Any] = ask_now("GET", f"{LIST}/{budget}", cast.vera.headers).json
    return answer


async def test_a_run_spends_and_the_next_start_is_refused(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender)
    before = await played(cast, writer, agent)
    made = await db(lambda: make(cast.alice, tokens=170, period="month"))
    assert (made.status, made.json["used"], made.json["max"]) == (201, 60, 170)
    assert before.status == "succeeded"
    await played(cast, writer, agent)
    budget = await db(read, cast, made.json["id"])
    assert (budget["used"], budget["state"]) == (120, "ok")
    await db(lambda: ask_now("PATCH", f"{LIST}/{made.json['id']}", cast.alice.headers,
                             json={"tokens": 120}))  # fmt: skip
    refused = await db(
        lambda: ask_now("POST", RUNS, cast.bob.headers, json={"agent": "spender", "input": {}})
    )
    assert (refused.status, refused.code) == (429, "budget_exceeded")
    assert refused.json["error"]["details"] == {"budget": made.json["id"]}
    other = await db(lambda: ask_now("POST", RUNS, cast.bob.headers, json={"input": {}}))
    assert other.status == 202


def test_a_budget_of_the_team_names_itself(cast: Cast) -> None:
    headers = cast.alice.headers
    made = ask_now("POST", LIST, headers, json={"scope": "team", "tokens": 10})
    assert (made.status, made.json["of"]) == (201, cast.team.slug)
    refused = ask_now("POST", LIST, headers, json={"scope": "agent", "tokens": 10})
    assert (refused.status, refused.json["error"]["details"]) == (422, {"path": "of"})


@pytest.mark.parametrize(
    ("scope", "of"),
    [("team", None), ("person", "bob"), ("person", "user:bob"), ("key", "PREFIX"),
     ("key", "key:PREFIX")],
)  # fmt: skip
def test_names_are_those_of_usage_and_runs(cast: Cast, scope: str, of: str | None) -> None:
    headers = cast.alice.headers
    if scope == "key":
        key = ask_now("GET", "/api/v1/keys", headers).json["results"][0]
        of = str(of).replace("PREFIX", key["prefix"])
    made = ask_now("POST", LIST, headers, json={"scope": scope, "of": of, "tokens": 10})
    assert made.status == 201, made.json


def test_max_is_changed_under_the_name_that_it_has_in_answers(cast: Cast) -> None:
    made = ask_now("POST", LIST, cast.alice.headers, json={"scope": "team", "cost": 10}).json
    place = f"{LIST}/{made['id']}"
    changed = ask_now("PATCH", place, cast.alice.headers, json={"max": 12.5})
    assert (changed.status, changed.json["max"], changed.json["unit"]) == (200, 12.5, "cost")
    for amounts in ({"max": 1, "cost": 1}, {"max": -1}, {"max": "much"}):
        assert ask_now("PATCH", place, cast.alice.headers, json=amounts).status == 422, amounts


async def test_a_run_that_takes_it_over_its_max_fails(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender)
    made = await db(lambda: make(cast.alice, tokens=100))
    run = await played(cast, writer, agent, calls=2)
    assert (run.status, run.error_code) == ("failed", "budget_exceeded")
    assert (await db(read, cast, made.json["id"]))["used"] == 120


async def test_usage_that_comes_with_the_end_counts_too(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def quiet(ctx: Any) -> AsyncIterator[Any]:
        ids = {"threadId": ctx.thread_id, "runId": ctx.run_id}
        usage = [{"model": "m", "inputTokens": 500, "outputTokens": 5}]
        yield {"type": "RUN_FINISHED", **ids, "usage": usage}

    agent = await db(register, "spender", quiet)
    made = await db(lambda: make(cast.alice, "team", cast.team.slug, tokens=100))
    run = await played(cast, writer, agent)
    assert (run.status, run.error_code) == ("failed", "budget_exceeded")
    assert (await db(read, cast, made.json["id"]))["used"] == 505


async def test_one_that_asks_is_raised_by_a_yes_of_an_admin(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender)
    made = await db(lambda: make(cast.alice, tokens=100, at_limit="ask"))
    run = await played(cast, writer, agent, calls=2, threadId="t")
    assert run.status == "interrupted"
    question = await db(Interrupt.objects.get)
    assert question.reason == "budget_exceeded"
    assert "spender" in question.message
    # Other threads wait for the answer.
    elsewhere = {"agent": "spender", "input": {"threadId": "u"}}
    refused = await db(lambda: ask_now("POST", RUNS, cast.bob.headers, json=elsewhere))
    assert refused.code == "budget_exceeded"
    url = f"/api/v1/interrupts/{question.pk}/answer"
    yes = {"status": "resolved", "payload": {"approved": True, "by": 500}}
    assert (await db(lambda: ask_now("POST", url, cast.bob.headers, json=yes))).status == 403
    assert (await db(read, cast, made.json["id"]))["max"] == 100
    answer = await db(lambda: ask_now("POST", url, cast.alice.headers, json=yes))
    assert answer.status == 200, answer.body
    assert (await db(read, cast, made.json["id"]))["max"] == 600
    assert await db(AuditEntry.objects.filter(action="budget.raised").exists)
    answering = await db(lambda: Run.objects.exclude(pk=run.pk).select_related("agent").get())
    assert answer.json["run"]["id"] == str(answering.pk)
    assert (await perform(answering, writer)).status == "succeeded"


async def test_after_a_no_the_run_ends(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(register, "spender", spender)
    made = await db(lambda: make(cast.alice, tokens=100, at_limit="ask"))
    run = await played(cast, writer, agent, calls=2, threadId="t")
    question = await db(Interrupt.objects.get)
    url = f"/api/v1/interrupts/{question.pk}/answer"
    no = {"status": "resolved", "payload": {"approved": False}}
    assert (await db(lambda: ask_now("POST", url, cast.bob.headers, json=no))).status == 200
    answering = await db(lambda: Run.objects.exclude(pk=run.pk).select_related("agent").get())
    after = await perform(answering, writer)
    assert (after.status, after.error_code) == ("failed", "budget_exceeded")
    assert (await db(read, cast, made.json["id"]))["max"] == 100


def spent(cast: Cast, **of: Any) -> str:
    """A budget that an earlier run of this period has used up."""
    made: dict[str, Any] = make(cast.alice, "agent", "echo", tokens=10, **of).json
    Budget.objects.filter(pk=made["id"]).update(used=10)
    return str(made["id"])


def refused_for(cast: Cast) -> tuple[str, int | None]:
    """The budget that refuses a start, and the seconds that the answer tells to wait."""
    answer = ask_now("POST", RUNS, cast.alice.headers, json={"input": {}})
    assert (answer.status, answer.code) == (429, "budget_exceeded")
    after = answer.headers.get("retry-after")
    return answer.json["error"]["details"]["budget"], None if after is None else int(after)


def left_of(period: str) -> float:
    """Seconds until the next UTC day or month."""
    moment = datetime.now(UTC)
    first = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        return (first + timedelta(days=1) - moment).total_seconds()
    return ((first.replace(day=1) + timedelta(days=32)).replace(day=1) - moment).total_seconds()


@pytest.mark.parametrize("period", ["day", "month"])
def test_a_refusal_names_the_seconds_until_the_next_period(cast: Cast, period: str) -> None:
    budget = spent(cast, period=period)
    before = left_of(period)
    assert refused_for(cast) == (budget, pytest.approx(before, abs=30))


def test_of_several_spent_budgets_the_longest_period_counts(cast: Cast) -> None:
    spent(cast, period="day")
    month = spent(cast, period="month")
    spent(cast, period="day")
    assert refused_for(cast) == (month, pytest.approx(left_of("month"), abs=30))
    total = spent(cast)
    assert refused_for(cast) == (total, None)


def test_a_budget_of_nothing_has_no_time_to_try_again(cast: Cast) -> None:
    budget = make(cast.alice, "agent", "echo", cost=0, period="day").json["id"]
    assert refused_for(cast) == (budget, None)


def test_a_budget_of_nothing_refuses_every_start(cast: Cast) -> None:
    made = make(cast.alice, "agent", "echo", cost=0, period="day")
    assert (made.status, made.json["state"], made.json["period"]) == (201, "spent", "day")
    body = {"input": {}}
    assert ask_now("POST", RUNS, cast.alice.headers, json=body).code == "budget_exceeded"
    assert ask_now("DELETE", f"{LIST}/{made.json['id']}", cast.alice.headers).status == 204
    assert not Budget.objects.exists()
    assert ask_now("POST", RUNS, cast.alice.headers, json=body).status == 202


def test_members_see_them_and_change_none(cast: Cast) -> None:
    made = make(cast.alice, "team", cast.team.slug, cost="2.50", period="day").json
    url = f"{LIST}/{made['id']}"
    assert ask_now("GET", LIST, cast.bob.headers).json["results"][0]["max"] == 2.5
    assert ask_now("GET", url, cast.charlie.headers).status == 404
    assert make(cast.bob, "team", cast.team.slug, tokens=1).status == 403
    assert ask_now("PATCH", url, cast.bob.headers, json={"cost": 9}).status == 403
    assert ask_now("DELETE", url, cast.bob.headers).status == 403


@pytest.mark.parametrize(
    "body",
    [
        {"tokens": 1, "cost": 1},
        {},
        {"tokens": -1},
        {"tokens": 1.5},
        {"cost": "NaN"},
        {"tokens": 1, "period": "year"},
        {"tokens": 1, "at_limit": "explode"},
        {"tokens": 1, "of": "nobody-here"},
        {"tokens": 1, "scope": "galaxy"},
        {"tokens": 1, "scope": "thread", "of": str(uuid4())},
        {"tokens": 1, "scope": "team", "of": "globex"},
        {"tokens": 1, "nonsense": 1},
        {"tokens": 10**15 + 1},
    ],
)
def test_what_cannot_be_a_budget_is_refused(cast: Cast, body: dict[str, Any]) -> None:
    answer = ask_now(
        "POST", LIST, cast.alice.headers, json={"scope": "agent", "of": "echo", **body}
    )
    assert answer.status == 422
    assert not Budget.objects.exists()
