"""What clients read of a team's usage: exact before and after it is added up, and CSV."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from agui_host.backends.postgres import scope
from agui_host.teams.authentication import Principal
from runs.access.usage import figures
from runs.access.usage.figures import Period
from runs.api.usage.resource import UsageSerializer
from runs.lifecycle import lifecycle
from runs.lifecycle.usage import rollup, team_prices
from runs.models import Run, UsageChange
from tests.asgi import ask_now
from tests.cast import Actor, Cast, Register, start
from tests.runs.jobs import FAILED, FINISHED

pytestmark = pytest.mark.django_db(transaction=True)


def run_of(actor: Actor, agent: Any, how: dict[str, Any] | None, at: datetime | None = None) -> Run:
    """A run that cost a dollar and 12 tokens, and failed, say."""
    run = start(actor, agent)
    usage = [{"model": "m", "inputTokens": 10, "outputTokens": 2, "cost": 1}]
    if how is not None:
        lifecycle.claim(run.pk)
        lifecycle.finish(run.pk, how | {"usage": usage})
    if at is not None:
        Run.objects.filter(pk=run.pk, team=run.team).update(created_at=at)
    return run


@pytest.fixture
def busy(cast: Cast, register: Register) -> Cast:
    other = register("other", lambda ctx: ctx.text)
    yesterday = timezone.now() - timedelta(days=1)
    run_of(cast.alice, cast.echo, FINISHED)
    run_of(cast.alice, other, FAILED)
    run_of(cast.alice, other, FINISHED, yesterday)
    run_of(cast.bob, cast.echo, FAILED, yesterday)
    run_of(cast.bob, cast.echo, None)
    run_of(cast.charlie, None, FINISHED)
    cancelled = run_of(cast.bob, other, None)
    lifecycle.cancel(cancelled)
    return cast


def usage(actor: Actor, query: str) -> list[dict[str, Any]]:
    answer = ask_now("GET", f"/api/v1/usage?{query}", actor.headers)
    assert answer.status == 200, answer.body
    rows: list[dict[str, Any]] = answer.json["results"]
    return rows


def short(rows: list[dict[str, Any]], *names: str) -> set[tuple[Any, ...]]:
    names = (*names, "runs", "failed", "tokens_in", "tokens_out", "cost")
    return {tuple(row[name] for name in names) for row in rows}


@pytest.mark.parametrize("is_added_up", [False, True])
def test_by_agent_person_and_day(busy: Cast, is_added_up: bool) -> None:
    if is_added_up:
        rollup.run_once(60)
        assert not UsageChange.objects.exists()
    rows = usage(busy.vera, "by=agent")
    assert short(rows, "agent") == {("echo", 3, 1, 20, 4, 2), ("other", 3, 1, 20, 4, 2)}
    assert {row["person"] for row in rows} == {None}
    rows = usage(busy.vera, "by=person")
    assert short(rows, "person") == {
        ("user:alice", 3, 1, 30, 6, 3), ("user:bob", 3, 1, 10, 2, 1)
    }  # fmt: skip
    today, yesterday = (
        (timezone.now() - timedelta(days=days)).date().isoformat() for days in (0, 1)
    )
    rows = usage(busy.vera, "by=day")
    assert [row["day"] for row in rows] == [today, yesterday]
    assert short(rows, "day") == {(today, 4, 1, 20, 4, 2), (yesterday, 2, 1, 20, 4, 2)}
    rows = usage(busy.vera, "by=person,agent,day")
    assert short(rows, "agent", "person", "day") == {
        ("echo", "user:alice", today, 1, 0, 10, 2, 1),
        ("other", "user:alice", today, 1, 1, 10, 2, 1),
        ("other", "user:alice", yesterday, 1, 0, 10, 2, 1),
        ("echo", "user:bob", yesterday, 1, 1, 10, 2, 1),
        ("echo", "user:bob", today, 1, 0, 0, 0, 0),
        ("other", "user:bob", today, 1, 0, 0, 0, 0),
    }
    assert sum(row["cancelled"] for row in rows) == 1


@pytest.mark.parametrize("by", ["agent", "person,day"])
def test_an_answer_is_as_its_description_says(busy: Cast, by: str) -> None:
    """Its rows come from SQL, past the serializer that describes them."""
    answer = ask_now("GET", f"/api/v1/usage?by={by}", busy.vera.headers).json
    assert answer["results"]
    assert UsageSerializer(answer).data == answer


def test_the_hours_between_two_moments(cast: Cast) -> None:
    noon = datetime(2026, 3, 4, 12, tzinfo=UTC)
    for minutes in (-1, 0, 59, 60):
        run_of(cast.alice, cast.echo, FINISHED, noon + timedelta(minutes=minutes))
    query = "by=person&since=2026-03-04T12:10:00Z&until=2026-03-04T12:50:00Z"
    assert short(usage(cast.alice, query)) == {(2, 0, 20, 4, 2)}, "the hour is counted whole"
    answer = ask_now("GET", f"/api/v1/usage?{query}", cast.alice.headers).json
    assert (answer["since"], answer["until"]) == ("2026-03-04T12:00:00Z", "2026-03-04T13:00:00Z")
    assert usage(cast.alice, "by=person&since=2026-03-05&until=2026-03-06") == []


def of_page(actor: Actor, *names: str) -> list[dict[str, Any]]:
    """As the page of usage reads it."""
    caller = Principal("key", "k", actor.team, actor.role)
    with scope.limited(actor.team.pk):
        return figures.read(caller, figures.by(set(names)), Period.of(None, None))


@pytest.mark.parametrize("is_added_up", [False, True])
def test_by_model(cast: Cast, is_added_up: bool) -> None:
    """A run counts with each of its models, and its outcome with the first."""
    run_of(cast.alice, cast.echo, None)
    run_of(cast.alice, cast.echo, FAILED)
    two = start(cast.alice)
    lifecycle.claim(two.pk)
    entries = [
        {"model": name, "inputTokens": tokens, "cost": cost}
        for name, tokens, cost in (("m", 5, 0.5), ("n", 7, 2))
    ]
    lifecycle.finish(two.pk, FINISHED | {"usage": entries})
    if is_added_up:
        rollup.run_once(60)
    assert short(of_page(cast.vera, "model"), "model") == {
        ("m", 2, 1, 15, 2, 1.5), ("n", 1, 0, 7, 0, 2), ("", 1, 0, 0, 0, 0),
    }  # fmt: skip
    rows = of_page(cast.vera, "model", "agent", "person")
    assert {(row["agent"], row["person"]) for row in rows} == {("echo", "user:alice")}
    assert short(usage(cast.vera, "by=agent"), "agent") == {("echo", 3, 1, 22, 2, 3.5)}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "invalid_by"),
        ("by=", "invalid_by"),
        ("by=model", "invalid_by"),
        ("by=agent,team", "invalid_by"),
        ("by=agent,agent", "invalid_by"),
        ("by=agent&format=xml", "invalid"),
        ("by=agent&since=soon", "invalid"),
        ("by=agent&until=0001-01-01", "invalid"),
        ("by=agent&sinse=2026-01-01", "unknown_member"),
    ],
)
def test_what_makes_no_sense_is_refused(cast: Cast, query: str, code: str) -> None:
    answer = ask_now("GET", f"/api/v1/usage?{query}", cast.alice.headers)
    assert (answer.status, answer.json["error"]["code"]) == (422, code)


def test_a_key_for_one_agent_sees_that_agents_usage(busy: Cast) -> None:
    from agui_host.teams import keys

    _, secret = keys.create_key(busy.team, "one", "member", agents=["other"])
    rows = ask_now(
        "GET", "/api/v1/usage?by=agent,person", {"authorization": f"Bearer {secret}"}
    ).json["results"]
    assert {row["agent"] for row in rows} == {"other"}


def test_csv_has_no_formulas(cast: Cast) -> None:
    run = run_of(cast.alice, cast.echo, FINISHED)
    Run.objects.filter(pk=run.pk, team=run.team).update(started_by="=cmd()")
    answer = ask_now("GET", "/api/v1/usage?by=person,day&format=csv", cast.alice.headers)
    assert answer.headers["content-type"].startswith("text/csv")
    head, row = csv.reader(io.StringIO(answer.body.decode()))
    assert head[:3] == ["person", "day", "runs"]
    assert (row[0], row[2], row[head.index("cost")]) == ("'=cmd()", "1", "1.0")


def test_prices_are_the_owners(cast: Cast) -> None:
    price = {"model": "m*", "input": 1.5, "output": 3, "cached": None}
    answer = ask_now("PUT", "/api/v1/prices", cast.alice.headers, json={"prices": [price]})
    assert (answer.status, answer.json) == (200, {"prices": [price]})
    assert ask_now("GET", "/api/v1/prices", cast.vera.headers).json == {"prices": [price]}
    assert ask_now("GET", "/api/v1/prices", cast.charlie.headers).json == {"prices": []}
    assert team_prices.of(cast.team.pk).cost("m1", 10, 0) == pytest.approx(15e-6)
    forbidden = ask_now("PUT", "/api/v1/prices", cast.bob.headers, json={"prices": []})
    assert forbidden.status == 403


@pytest.mark.parametrize(
    "wrong",
    [
        [{"model": "m", "input": -1, "output": 1}],
        [{"model": "m", "input": "nan", "output": 1}],
        [{"model": "m", "input": 1}],
        [{"model": "*", "input": 1, "output": 1}],
        [{"model": "a\u0007b", "input": 1, "output": 1}],
        [{"model": "m", "input": 1, "output": 1, "price": 1}],
        [{"model": "m", "input": 1, "output": 1}] * 2,
        "free",
    ],
)
def test_prices_that_are_nonsense_are_refused(cast: Cast, wrong: Any) -> None:
    answer = ask_now("PUT", "/api/v1/prices", cast.alice.headers, json={"prices": wrong})
    assert answer.status == 422, answer.body
    assert team_prices.own(cast.team) == []


def test_percentiles_are_five_percent_exact() -> None:
    from math import ceil, log

    from runs.lifecycle.usage.sums import BASE

    times = [n**2 for n in range(1, 1001)]
    buckets: dict[int, int] = {}
    for ms in times:
        bucket = ceil(log(ms) / log(BASE))
        buckets[bucket] = buckets.get(bucket, 0) + 1
    for share in (0.5, 0.95, 0.99):
        exact = times[int(share * 1000) - 1]
        assert figures.percentile(buckets, share) == pytest.approx(exact, rel=0.05)
    assert figures.percentile({}, 0.5) is None
