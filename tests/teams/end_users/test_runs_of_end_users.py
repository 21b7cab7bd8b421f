"""The runs that a key starts for an end user: who they are of, in each place that says it."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.errors import Forbidden, NotFound
from agui_host.protocol.errors import Invalid
from agui_host.runtimes.context.person import Person
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.kinds import on_behalf
from agui_host.teams import authentication, keys
from agui_host.teams.access import tickets
from agui_host.teams.actors import HOST
from agui_host.teams.authentication import Bound
from agui_host.teams.end_users import signing
from agui_host.teams.limits import BudgetExceeded, LimitReached
from agui_host.teams.models import ApiKey, AuditEntry, Role
from events.writer import JournalWriter
from runs.access import access, threads
from runs.access.budgets import manage
from runs.access.usage import figures
from runs.lifecycle import lifecycle
from runs.lifecycle.deletion import retention
from runs.lifecycle.usage import rollup
from runs.models import Run
from tests.asgi import Exchange, ask, ask_now
from tests.cast import Cast, Register, fresh, perform
from tests.teams.end_users.signed import Signing, start_as

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_records_its_end_user_and_its_key(cast: Cast) -> None:
    product = Signing(cast.team)
    run = fresh(start_as(product.principal("42", name="Dora"), cast.echo, threadId="t"))
    assert run.started_by == f"key:{product.row.prefix}"
    assert run.starter == f"key:{product.row.pk}"
    assert run.end_user == "42"
    line = AuditEntry.objects.for_team(cast.team).get(action="run.started")
    assert line.actor == f"key:{product.row.pk}"
    assert '"end_user":"42"' in line.details


async def test_the_list_is_filtered_by_end_user(cast: Cast, bell: None) -> None:
    product = await db(Signing, cast.team)
    for sub in ("42", "43"):
        principal = await db(product.principal, sub)
        await db(lambda who=principal, sub=sub: start_as(who, cast.echo, threadId=sub))
    for query in ("end_user=42", "started_by=end:42"):
        answer = await ask("GET", f"/api/v1/runs?{query}", cast.alice.headers)
        assert [row["end_user"] for row in answer.json["results"]] == ["42"]
    answer = await ask("GET", "/api/v1/runs?end_user=42", product.headers("43"))
    assert answer.json["results"] == []


def test_another_end_user_cannot_use_the_threads_name(cast: Cast) -> None:
    product = Signing(cast.team)
    run = start_as(product.principal("42"), cast.echo, threadId="t")
    eve = product.principal("43")
    with pytest.raises(NotFound):
        start_as(eve, cast.echo, threadId="t", runId="mine")
    for action in ("view", "cancel"):
        with pytest.raises(NotFound):
            access.find(eve, run.pk, action)
    assert access.find(product.principal("42"), run.pk, "cancel").pk == run.pk


async def test_an_end_user_does_not_see_the_inside_of_agents(cast: Cast, bell: None) -> None:
    product = await db(Signing, cast.team)
    body = {
        "slug": "far", "url": "https://inside.example.com/agent", "headers": {"X-Inside": "s3cr"},
        "middleware": [{"name": "redact", "patterns": ["inside"]}],
        "context_providers": [{"name": "http", "url": "https://inside.example.com/search"}],
    }  # fmt: skip
    made = await ask("POST", "/api/v1/agents", cast.alice.headers, json=body)
    assert made.status == 201, made.body
    for url in ("/api/v1/agents", "/api/v1/agents/far"):
        assert b"nside" in (await ask("GET", url, product.plain)).body
        answer = await ask("GET", url, product.headers("42"))
        assert b'"far"' in answer.body
        assert b"nside" not in answer.body


def test_an_end_user_cannot_hide_a_thread_from_the_team(cast: Cast) -> None:
    product = Signing(cast.team)
    dora = product.principal("42")
    run = start_as(dora, cast.echo, threadId="t")
    with pytest.raises(Forbidden):
        threads.change(dora, run.thread_id, {"visibility": "private"})
    threads.change(dora, run.thread_id, {"title": "Mine"})


async def test_an_agent_knows_the_person(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    people: list[Person | None] = []
    agent = await db(register, "whose", lambda ctx: people.append(ctx.person))
    product = await db(Signing, cast.team)
    principal = await db(lambda: product.principal("42", name="Dora", plan="gold"))
    await perform(await db(lambda: start_as(principal, agent, threadId="t")), writer)
    (person,) = people
    assert person is not None
    assert (person.id, person.name, person.via) == ("42", "Dora", f"key:{product.row.prefix}")
    assert person.claims["plan"] == "gold"


async def test_a_run_that_an_agent_starts_is_of_the_same_person(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    async def parent(ctx: Any) -> None:
        async with ctx.spawn("echo", {}) as child:
            await child.end()

    agent = await db(register, "parent", parent)
    product = await db(Signing, cast.team)
    principal = await db(product.principal, "42")
    run = await perform(await db(lambda: start_as(principal, agent, threadId="t")), writer)
    child = await db(lambda: Run.objects.select_related("thread").get(parent=run.pk))
    assert (child.end_user, child.thread.creator) == ("42", principal.actor_id)


def test_a_remote_agent_gets_a_signed_token() -> None:
    secret, url = "s" * 32, "https://agents.example.com/agui"
    person = Person.of("42", "key:abcd1234", '{"name": "Dora", "email": "d@example.com"}')
    ctx = RunContext({"threadId": "t", "runId": "r"}, person=person)
    token = on_behalf.headers(ctx, secret, url)["agui-on-behalf-of"]
    claims = jwt.decode(token, secret, ["HS256"], audience=url)
    assert (claims["sub"], claims["act"]) == ("42", {"sub": "key:abcd1234"})
    assert (claims["name"], claims["run_id"]) == ("Dora", "r")
    assert claims["exp"] - claims["iat"] == 300
    assert on_behalf.headers(RunContext({}), secret, url) == {}
    assert on_behalf.headers(ctx, "", url) == {}


def test_a_budget_counts_one_end_user(cast: Cast) -> None:
    product = Signing(cast.team)
    manage.create(
        cast.alice.principal,
        {"scope": "person", "of": "end:42", "tokens": 0, "period": None, "at_limit": "end"},
    )
    with pytest.raises(BudgetExceeded) as refused:
        start_as(product.principal("42"), cast.echo, threadId="t")
    assert refused.value.code == "budget_exceeded"
    start_as(product.principal("43"), cast.echo, threadId="u")
    assert [row.of for row in manage.visible(product.principal("42"))] == ["end:42"]
    assert not manage.visible(product.principal("43")).exists()


def test_a_budget_is_of_one_keys_end_user(cast: Cast) -> None:
    """Two keys that give one ``sub`` to two people."""
    product, other = Signing(cast.team), Signing(cast.team)
    values = {"scope": "person", "tokens": 0, "period": None, "at_limit": "end"}
    for of in ("end:42", f"end:@{product.row.prefix}", "end:"):
        with pytest.raises(Invalid):
            manage.create(cast.alice.principal, {**values, "of": of})
    row = manage.create(cast.alice.principal, {**values, "of": f"end:42@{product.row.prefix}"})
    with pytest.raises(BudgetExceeded):
        start_as(product.principal("42"), cast.echo, threadId="t")
    start_as(other.principal("42"), cast.echo, threadId="t")
    assert [each.pk for each in manage.visible(product.principal("42"))] == [row.pk]
    assert not manage.visible(other.principal("42")).exists()
    end_user_of_an_address = f"end:dora@example.com@{product.row.prefix}"
    key = manage.create(cast.alice.principal, {**values, "of": end_user_of_an_address}).key
    assert key == product.principal("dora@example.com").actor_id


def test_a_budget_counts_what_its_end_user_has_spent(cast: Cast) -> None:
    product, other = Signing(cast.team), Signing(cast.team)
    for tokens, each in ((7, product), (100, other)):
        run = start_as(each.principal("42"), cast.echo, threadId=str(tokens))
        lifecycle.cancel(run)
        Run.objects.for_team(cast.team).filter(pk=run.pk).update(tokens_in=tokens)
    of = f"end:42@{product.row.prefix}"
    values = {"scope": "person", "of": of, "tokens": 50, "period": "day", "at_limit": "end"}
    assert manage.create(cast.alice.principal, values).used == 7


def test_one_end_user_cannot_use_up_the_teams_starts(cast: Cast, settings: Settings) -> None:
    settings.AGUI_END_USER_RUNS_PER_MINUTE = 2
    product, other = Signing(cast.team), Signing(cast.team)
    dora = product.principal("42")
    for thread in ("t1", "t2"):
        start_as(dora, cast.echo, threadId=thread)
    with pytest.raises(LimitReached) as refused:
        start_as(dora, cast.echo, threadId="t3")
    assert refused.value.details == {"limit": "end_user_runs_per_minute", "max": 2}
    assert 0 < int(refused.value.headers["Retry-After"]) <= 60
    assert access.find_thread(dora, "t3") is None
    for another in (product.principal("43"), other.principal("42")):
        start_as(another, cast.echo, threadId=another.actor_id)
    start_as(authentication.resolve(product.plain, {}), cast.echo, threadId="plain")


async def test_one_end_user_cannot_use_up_the_teams_streams(
    cast: Cast, settings: Settings, bell: None, writer: JournalWriter
) -> None:
    settings.AGUI_END_USER_STREAMS = 1
    product = await db(Signing, cast.team)
    dora = await db(product.principal, "42")
    run = await db(lambda: start_as(dora, cast.echo, threadId="t"))
    url, stream = f"/api/v1/runs/{run.pk}/events", {"accept": "text/event-stream"}
    async with Exchange("GET", url, {**product.headers("42"), **stream}) as first:
        await first.until(b"retry:")
        answer = await ask("GET", url, {**product.headers("42"), **stream})
        assert answer.status == 429
        assert answer.json["error"]["details"] == {"limit": "end_user_streams", "max": 1}
        async with Exchange("GET", url, {**product.plain, **stream}) as second:
            await second.until(b"retry:")


def test_usage_counts_end_users_apart(cast: Cast) -> None:
    product = Signing(cast.team)
    for number, sub in enumerate(("42", "43", "42")):
        principal = product.principal(sub)
        lifecycle.cancel(start_as(principal, cast.echo, threadId=sub, runId=f"r{number}"))
    prefix = product.row.prefix
    assert by_person(cast) == {f"end:42@{prefix}": 2, f"end:43@{prefix}": 1}


def test_one_sub_of_two_keys_is_two_people_in_the_usage(cast: Cast) -> None:
    """And a rotated key's is the same person; each figure leads to its runs alone."""
    product, other = Signing(cast.team), Signing(cast.team)
    prefix = product.row.prefix
    runs = [start_as(product.principal("42"), cast.echo, threadId="a", runId="a"),
            start_as(other.principal("42"), cast.echo, threadId="b", runId="b")]  # fmt: skip
    successor, key = keys.rotate(product.row, overlap=timedelta(hours=1), by=HOST)
    product.key, product.row = key, ApiKey.objects.for_team(cast.team).get(pk=successor.pk)
    runs.append(start_as(product.principal("42"), cast.echo, threadId="c", runId="c"))
    names = {f"end:42@{prefix}": 2, f"end:42@{other.row.prefix}": 1}
    assert by_person(cast) == names, "runs that have not ended"
    for run in runs:
        lifecycle.cancel(run)
    assert by_person(cast) == names, "changes that are not added up"
    rollup.run_once(60)
    assert by_person(cast) == names
    rollup.recount(cast.team.pk)
    assert by_person(cast) == names
    for name, of_name in ((f"end:42@{prefix}", {"a", "c"}), (f"end:42@{other.row.prefix}", {"b"}),
                          ("end:42", {"a", "b", "c"})):  # fmt: skip
        query = urlencode({"started_by": name})
        rows = ask_now("GET", f"/api/v1/runs?{query}", cast.alice.headers).json["results"]
        assert {row["run_id"] for row in rows} == of_name, name


def by_person(cast: Cast) -> dict[str, int]:
    rows = figures.read(cast.alice.principal, figures.by({"person"}), figures.Period.of())
    return {row["person"]: row["runs"] for row in rows}


async def test_a_ticket_is_of_the_end_user_who_got_it(cast: Cast, bell: None) -> None:
    product = await db(Signing, cast.team)
    dora, eve = await db(product.principal, "42"), await db(product.principal, "43")
    run = await db(lambda: start_as(dora, cast.echo, threadId="t"))
    everything = await db(tickets.mint, eve, Bound())
    principal = await db(tickets.redeem_for_socket, everything)
    assert principal.actor_id == eve.actor_id
    late = await db(tickets.mint, dora, Bound(run=run.pk))
    await db(signing.remove, product.row, HOST)
    with pytest.raises(tickets.TicketRefused):
        await db(lambda: tickets.redeem(late, run.pk, again=False))


def test_purging_a_run_forgets_the_persons_claims(cast: Cast) -> None:
    product = Signing(cast.team, Role.MEMBER)
    run = start_as(product.principal("42", email="dora@example.com"), cast.echo, threadId="t")
    lifecycle.cancel(run)
    retention.purge_run(fresh(run))
    assert fresh(run).person is None
