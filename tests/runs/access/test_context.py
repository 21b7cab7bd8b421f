"""Context providers: the agent is told, members can look it up, and nobody else gets it."""

import asyncio
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.knowledge import documents, notes
from agui_host.runtimes.models import Agent, Profile
from agui_host.runtimes.providers import chain, table
from agui_host.runtimes.providers.base import ContextEntry, Provider, Query
from agui_host.teams.models import AuditEntry, Membership
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.lifecycle.deletion import retention
from runs.models import Run, ThreadHistory
from tests.asgi import Exchange, ask, ask_now, watch
from tests.cast import Cast, Register, fresh, log_of, perform, start
from tests.runs.past import old_run
from tests.runs.playing import Play, failure

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "the-team-knows-this"
OWN = {"origin": "http://localhost"}
PARTS = ("messages", "events", "state")
ALL = [{"name": "profile"}, {"name": "wisdom"}, {"name": "documents", "most": 2}]
SENT = {"description": "page", "value": "/prices"}


class Broken(Provider):
    async def entries(self, query: Query) -> list[ContextEntry]:
        raise RuntimeError("no")


class Slow(Provider):
    def read(self, query: Query) -> list[ContextEntry]:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(60)")
        return []


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"broken": Broken, "slow": Slow}
    monkeypatch.setattr(chain, "PROVIDERS", {**table.PROVIDERS, **more})


def knowing(cast: Cast) -> None:
    """Alice's team knows things."""
    alice = cast.alice.principal
    notes.write(alice, f"Refunds need a manager. {SECRET}")
    notes.describe(alice, f"I answer for sales. {SECRET}")
    text = f"# Refunds\nWithin ten days. {SECRET}"
    values = {"title": "Rules", "media_type": "text/markdown", "text": text}
    documents.upload(alice, values)


async def run_with_context(
    cast: Cast, register: Register, writer: JournalWriter, providers: Any = ALL, **body: Any
) -> tuple[Run, list[dict[str, str]]]:
    """A run of Alice's about refunds, and the context that its agent got."""
    got: list[dict[str, str]] = []

    async def agent(ctx: Any) -> str:
        got.extend(ctx.context)
        ctx.state["n"] = 1
        return "answer"

    row = await db(register, "knowing", agent, context_providers=providers)
    message = {"role": "user", "content": "How do refunds work?"}
    body = {"threadId": "t", "context": [SENT], "messages": [message], **body}
    run = await perform(await db(lambda: start(cast.alice, row, **body)), writer)
    assert run.status == "succeeded", run.error_message
    return run, got


def context_of(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/context"


async def test_the_agent_is_told_and_members_can_look_it_up(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    await db(knowing, cast)
    run, got = await run_with_context(cast, register, writer)
    assert [entry["description"] for entry in got] == [
        "page", "The user", "What the team has learned", "Rules › Refunds",
    ]  # fmt: skip
    assert all(set(entry) == {"description", "value"} for entry in got)
    assert got[0] == SENT
    assert got[1]["value"] == (
        f"Name: alice\nRole in the team Acme: owner\nAbout: I answer for sales. {SECRET}"
    )
    answer = await ask("GET", context_of(run), cast.vera.cookie)
    assert answer.status == 200
    looked_up = answer.json["context"]
    assert [entry.pop("provider") for entry in looked_up] == [
        None,
        "profile",
        "wisdom",
        "documents",
    ]
    assert looked_up == got
    assert answer.json["failed"] == []


async def test_who_may_not_look_it_up(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    """Not strangers, not those with whom the run was shared, not the keys of clients."""
    await db(knowing, cast)
    run, _ = await run_with_context(cast, register, writer)
    url = context_of(run)
    assert (await ask("GET", url)).status == 401
    assert (await ask("GET", url, cast.charlie.headers)).status == 404
    to = To(team=cast.other_team.pk)
    await db(lambda: sharing.share(cast.alice.principal, run, to, Terms()))
    shared = await ask("GET", f"/api/v1/runs/{run.pk}", cast.charlie.headers)
    assert shared.status == 200
    assert (await ask("GET", url, cast.charlie.cookie)).status == 404
    assert (await ask("GET", url, cast.bob.headers)).status == 403
    assert (await ask("GET", url, cast.alice.headers)).status == 200


async def test_it_is_nowhere_else(cast: Cast, register: Register, writer: JournalWriter) -> None:
    """Log, stored folds, streams of clients, hydration, CopilotKit's threads, links, pages."""
    await db(knowing, cast)
    run, got = await run_with_context(cast, register, writer, runId="r")
    assert SECRET in str(got)
    log = await db(log_of, run)
    assert log[0]["input"]["context"] == [SENT]
    token = (await db(lambda: sharing.share(cast.alice.principal, run, To(), Terms())))[1]
    mine = cast.alice.headers
    same = {"threadId": "t", "runId": "r", "agentId": "knowing"}
    answers = [
        await ask("GET", f"/api/v1/runs/{run.pk}", mine),
        await ask("GET", "/api/v1/runs", mine),
        await ask("GET", f"/api/v1/runs/{run.pk}/events", mine),
        await ask("GET", f"/api/v1/runs/{run.pk}/events", {**mine, "accept": "text/event-stream"}),
        await ask("POST", "/agui", mine, json=same),
        await ask("POST", "/agui/agent/knowing/connect", mine, json=same),
        *[await ask("GET", f"/agui/threads/t/{part}", mine) for part in PARTS],
        await ask("GET", f"/shared/{token}/"),
        await ask("GET", f"/shared/{token}/runs/{run.pk}/events"),
        await ask("GET", f"/shared/{token}/runs/{run.pk}/status"),
        await ask("GET", f"/runs/{run.pk}/", cast.alice.cookie),
        await ask("GET", f"/runs/{run.pk}/input", cast.alice.cookie),
    ]
    assert [answer.status for answer in answers] == [200] * len(answers)
    assert not [answer.body for answer in answers if SECRET.encode() in answer.body]
    assert SECRET not in str(log)
    assert SECRET not in str(await watch(f"/ws/runs/{run.pk}/", {**mine, **OWN}))
    assert SECRET not in await db(lambda: str(list(ThreadHistory.objects.values_list("fold"))))
    assert SECRET not in (await db(fresh, run)).input


async def test_who_joins_a_live_run_does_not_get_it(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    await db(knowing, cast)
    ready, go_on = asyncio.Event(), asyncio.Event()

    async def waits(ctx: Any) -> str:
        assert SECRET in str(ctx.context)
        ctx.state["n"] = 1
        await ctx.drain()
        ready.set()
        await go_on.wait()
        return "answer"

    row = await db(register, "waits", waits, context_providers=ALL)
    run = await db(lambda: start(cast.alice, row, threadId="t", runId="r"))
    working = asyncio.create_task(perform(run, writer))
    await asyncio.wait_for(ready.wait(), 30)
    same = {"threadId": "t", "runId": "r", "agentId": "waits"}
    async with Exchange("POST", "/agui", cast.alice.headers, json=same) as joined:
        frames = await joined.until(b"RUN_STARTED")
        go_on.set()
        frames += await joined.rest()
    assert (await working).status == "succeeded"
    assert b"RUN_FINISHED" in frames
    assert SECRET.encode() not in frames


async def test_what_is_handed_on_to_another_run_is_not_in_its_log_either(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    await db(knowing, cast)
    got: list[dict[str, str]] = []

    async def below(ctx: Any) -> str:
        got.extend(ctx.context)
        return "answer"

    async def above(ctx: Any) -> None:
        async with ctx.spawn("below", {"messages": ctx.messages, "context": ctx.context}) as child:
            await child.end()

    await db(lambda: register("below", below, context_providers=[{"name": "wisdom"}]))
    row = await db(lambda: register("above", above, context_providers=ALL))
    message = {"role": "user", "content": "refunds?"}
    run = await db(lambda: start(cast.alice, row, context=[SENT], messages=[message]))
    assert (await perform(run, writer)).status == "succeeded"
    child = await db(lambda: Run.objects.select_related("agent").get(parent=run))
    log = await db(log_of, child)
    assert log[0]["input"]["context"] == [SENT]
    assert SECRET not in str(log) + child.input
    answer = await ask("GET", context_of(child), cast.alice.headers)
    looked_up = answer.json["context"]
    names = [entry.pop("provider") for entry in looked_up]
    assert names == [None, "profile", "wisdom", "documents"], "and nothing twice"
    assert looked_up == got


@pytest.mark.parametrize(("name", "reason"), [("broken", "error"), ("slow", "timeout")])
async def test_one_that_fails_is_passed_over(
    cast: Cast,
    register: Register,
    writer: JournalWriter,
    settings: Settings,
    name: str,
    reason: str,
) -> None:
    settings.AGUI_CONTEXT_TIMEOUT = 1.0 if name == "slow" else 20.0
    run, got = await run_with_context(cast, register, writer, [{"name": "profile"}, {"name": name}])
    assert [entry["description"] for entry in got] == ["page", "The user"]
    answer = await ask("GET", context_of(run), cast.alice.headers)
    assert answer.json["failed"] == [{"provider": name, "reason": reason}]


async def test_one_that_is_required_ends_the_run(play: Play) -> None:
    def agent(ctx: Any) -> str:
        raise AssertionError("the agent must not begin")

    run, log = await play(agent, context_providers=[{"name": "broken", "required": True}])
    code, message = failure(run, log)
    assert code == "agent_error"
    assert "broken" in message


async def test_it_is_bounded(
    cast: Cast, register: Register, writer: JournalWriter, settings: Settings
) -> None:
    settings.AGUI_CONTEXT_MAX_CHARS = 150
    await db(notes.write, cast.alice.principal, "w" * 1000)
    providers = [{"name": "wisdom", "max_chars": 100}, {"name": "profile"}, {"name": "wisdom"}]
    _, got = await run_with_context(cast, register, writer, providers)
    sizes = [len(entry["description"]) + len(entry["value"]) for entry in got[1:]]
    assert sizes[0] == 100
    assert sum(sizes) <= 150
    assert got[1]["value"].endswith("w…")


async def test_a_run_of_a_key_has_no_profile_and_a_stranger_shares_nothing(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    await db(knowing, cast)
    row = await db(register, "knowing", lambda ctx: str(ctx.context), context_providers=ALL)
    body = {"agent": row.slug, "input": {"threadId": "k"}}
    made = await ask("POST", "/api/v1/runs", cast.bob.headers, json=body)
    run = await perform(await db(Run.objects.get, pk=made.json["id"]), writer)
    added = json.loads(run.context or "")["added"]
    assert [entry["provider"] for entry in added] == ["wisdom"]
    await db(lambda: Agent.objects.filter(team=cast.other_team).update(context_providers=ALL))
    theirs = await perform(await db(start, cast.charlie), writer)
    assert SECRET not in (theirs.context or "")


async def test_without_providers_nothing_is_stored(cast: Cast, writer: JournalWriter) -> None:
    run = await perform(await db(lambda: start(cast.alice, context=[SENT])), writer)
    assert run.context is None
    answer = await ask("GET", context_of(run), cast.alice.headers)
    assert answer.json == {"context": [{"provider": None, **SENT}], "failed": []}


def test_it_goes_with_the_run(cast: Cast, settings: Settings) -> None:
    settings.AGUI_LIMIT_RETENTION_DAYS = 365
    run = old_run(cast.alice)
    Run.objects.filter(pk=run.pk).update(context=json.dumps({"added": [], "failed": []}))
    retention.run_once()
    assert Run.objects.get(pk=run.pk).purged_at is not None
    assert Run.objects.get(pk=run.pk).context is None


@pytest.mark.parametrize(
    ("providers", "problem"),
    [
        ({}, "must be a list"),
        ([{"name": "gossip"}], 'needs a "name", one of: '),
        ([{"name": "wisdom", "mots": 1}], "unknown option 'mots'"),
        ([{"name": "documents", "most": 0}], "most: "),
        ([{"name": "profile"}] * 21, "at most 20 context_providers"),
    ],
)
def test_a_list_that_cannot_run_is_refused_when_it_is_saved(
    cast: Cast, providers: Any, problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        Agent.objects.create(team=cast.team, slug="x", name="x", context_providers=providers)


class TestNotes:
    def test_wisdom_is_written_read_and_deleted(self, cast: Cast, settings: Settings) -> None:
        settings.AGUI_WISDOM_MAX = 1
        url = "/api/v1/wisdom"
        made = ask_now("POST", url, cast.alice.headers, json={"text": "Be kind."})
        assert made.status == 201
        assert ask_now("GET", url, cast.vera.cookie).json["results"] == [made.json]
        assert ask_now("GET", url, cast.bob.headers).status == 403, "a client's key"
        assert ask_now("GET", url, cast.charlie.cookie).json["results"] == []
        full = ask_now("POST", url, cast.alice.headers, json={"text": "Be brief."})
        assert (full.status, full.code) == (409, "knowledge_full")
        one = f"{url}/{made.json['id']}"
        browser = {**cast.bob.cookie, **OWN}
        assert ask_now("DELETE", one, browser).status == 403
        assert ask_now("DELETE", one, cast.charlie.headers).status == 404
        assert ask_now("DELETE", one, cast.alice.headers).status == 204
        assert ask_now("GET", url, cast.alice.headers).json["results"] == []
        acts = AuditEntry.objects.for_team(cast.team).filter(action__startswith="wisdom.")
        assert [line.action for line in acts.order_by("id")] == ["wisdom.written", "wisdom.deleted"]

    def test_a_profile_is_ones_own_and_goes_with_the_membership(self, cast: Cast) -> None:
        url, mine = "/api/v1/profile", {**cast.vera.cookie, **OWN}
        assert ask_now("GET", url, mine).json == {"about": ""}
        assert ask_now("PUT", url, mine, json={"about": "I sell."}).json == {"about": "I sell."}
        assert ask_now("GET", url, mine).json == {"about": "I sell."}
        assert ask_now("GET", url, cast.bob.cookie).json == {"about": ""}
        assert ask_now("GET", url, cast.alice.headers).status == 403, "a key is nobody"
        assert ask_now("PUT", url, mine, json={"about": "x" * 4001}).code == "invalid"
        assert ask_now("PUT", url, mine, json={"about": ""}).json == {"about": ""}
        Membership.objects.get(user=cast.vera.user).delete()
        assert not Profile.objects.exists()
