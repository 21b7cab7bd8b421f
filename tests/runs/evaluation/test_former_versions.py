"""Trials with a version that the agent had before: what can run again does, the rest says why."""

from typing import Any

import pytest
from django.db import transaction
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes import team_agents
from agui_host.runtimes.kinds import http
from agui_host.runtimes.models import Agent
from agui_host.runtimes.versions import bringing, digests
from events.writer import JournalWriter
from runs.access.evaluation import former
from runs.models import AgentTerms, Run
from tests.asgi import Answer, ask_now
from tests.cast import Actor, Cast, Register, perform, start
from tests.runs.evaluation.test_evaluation import SETS, made
from tests.runtimes.kinds.peers import FINISHED, STARTED, STREAM, Call, peer, text

pytestmark = pytest.mark.django_db(transaction=True)
RULES = [{"name": "redact", "patterns": ["ann@[a-z.]+"], "replacement": "[email]"}]


def tried(actor: Actor, key: str, agent: str, version: str) -> Answer:
    body = {"agent": agent, "version": version}
    return ask_now("POST", f"{SETS}/{key}/trials", actor.headers, json=body)


def changed(agent: Agent, **values: Any) -> str:
    """Change an agent; the version that it had before."""
    before = agent.version
    for name, value in values.items():
        setattr(agent, name, value)
    agent.save()
    return before


def bring() -> None:
    with transaction.atomic():
        bringing.bring()


def brought(register: Register, slug: str, code: Any) -> Agent:
    """An agent with code whose digest a worker has brought."""
    row = register(slug, code)
    bring()
    row.refresh_from_db()
    return row


def again(answer: Answer, team: Any) -> Run:
    (pair,) = answer.json["pairs"]
    rows = Run.objects.select_related("agent", "thread", "team", "journal")
    return rows.get(pk=pair["after"]["id"], team=team)


async def asked(cast: Cast, agent: Any, writer: JournalWriter, words: str) -> str:
    """A data set of one run that has ended."""
    message = {"id": "m", "role": "user", "content": words}
    run = await perform(await db(start, cast.alice, agent, messages=[message]), writer)
    return await db(made, cast.alice, run)


async def test_earlier_middleware_and_settings_run_again(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    agent = await db(
        brought, register, "said", lambda ctx: f"{ctx.settings.get('mark', '')}{ctx.text}"
    )
    key = await asked(cast, agent, writer, "ann@example.org")
    plain = await db(lambda: changed(agent, middleware=RULES, settings={"mark": "!"}))
    veiled = await db(lambda: changed(agent, middleware=[], settings={}))
    assert plain == await db(lambda: Agent.objects.get(pk=agent.pk).version)
    first = await db(tried, cast.alice, key, "said", veiled)
    assert (first.status, first.json["version"]) == (201, veiled)
    run = await perform(await db(again, first, cast.team), writer)
    assert (run.answered, run.agent_version) == ("![email]", veiled)
    now = await db(tried, cast.alice, key, "said", plain)
    assert now.json["version"] == ""
    assert (await perform(await db(again, now, cast.team), writer)).answered == "ann@example.org"
    row = await db(lambda: Agent.objects.get(pk=agent.pk))
    assert (row.middleware, row.settings) == ([], {}), "the agent itself has not changed"


async def test_code_that_is_gone_is_refused_before_and_in_the_worker(
    cast: Cast, register: Register, writer: JournalWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await db(brought, register, "said", lambda ctx: ctx.text)
    key = await asked(cast, agent, writer, "x")
    former_one = await db(lambda: changed(agent, settings={"mark": 1}))
    answer = await db(tried, cast.alice, key, "said", former_one)
    with monkeypatch.context() as patch:
        patch.setattr(digests, "of_code", lambda target: "f" * 16)
        run = await perform(await db(again, answer, cast.team), writer)
        assert (run.status, run.error_code) == ("failed", "code_changed")
        await db(bring)
    refused = await db(tried, cast.alice, key, "said", former_one)
    assert (refused.status, refused.code) == (409, "version_gone")
    assert former.CODE_GONE in refused.json["error"]["message"]


async def test_an_address_of_another_host_gets_no_headers(
    cast: Cast, writer: JournalWriter, settings: Settings
) -> None:
    settings.AGUI_OUTBOUND_ALLOW = ["127.0.0.1"]

    async def answer(call: Call) -> None:
        await call.raw(STREAM)
        await call.events(STARTED, *text(f"at {call.peer.port}"), FINISHED)
        await call.chunk(b"")

    async with peer(answer) as old, peer(answer) as new:
        values = {"slug": "far", "url": old.url, "headers": {"Authorization": "Bearer old"}}
        far = await db(team_agents.create, cast.alice.principal, values)
        key = await asked(cast, far, writer, "x")
        before = far.version
        moved = {"url": new.url, "headers": {"Authorization": "Bearer new"}}
        await db(team_agents.change, cast.alice.principal, "far", moved)
        offered = await db(tried, cast.alice, key, "far", before)
        run = await perform(await db(again, offered, cast.team), writer)
        await http.close()
    assert (run.status, run.answered) == ("succeeded", f"at {old.port}")
    assert run.agent_version == before
    assert not new.calls
    assert ["Bearer" in call.head for call in old.calls] == [True, False]
    row = await db(Agent.objects.get, team=cast.team, slug="far")
    assert row.unsealed()["headers"] == {"Authorization": "Bearer new"}


def test_who_chooses_a_version_and_what_it_must_have(cast: Cast) -> None:
    key = made(cast.alice)
    first = changed(cast.echo, settings={"mark": 1})
    second = changed(cast.echo, middleware=RULES)
    assert tried(cast.bob, key, "echo", first).status == 403
    assert tried(cast.bob, key, "echo", cast.echo.version).status == 201
    assert tried(cast.alice, key, "echo", second).status == 201
    for wrong in ("x" * 12, "\u202e"):
        assert tried(cast.alice, key, "echo", wrong).code == "version_gone"
    assert tried(cast.alice, key, "echo", "x" * 17).status == 422
    AgentTerms.objects.for_team(cast.team).filter(version=second).update(
        middleware=[{"name": "gone"}]
    )
    assert tried(cast.alice, key, "echo", second).code == "version_gone"
    keyed = [{"name": "http", "url": "https://a.example/", "api_key": {"secret": "a" * 16}}]
    AgentTerms.objects.for_team(cast.team).filter(version=second).update(
        middleware=[], context_providers=keyed
    )
    problems = {choice.version.version: choice.problem for choice in former.choices(cast.echo)}
    assert problems == {first: "", second: former.KEY_GONE}
