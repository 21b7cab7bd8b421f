"""Why an agent failed: stored with the run's end, for those who manage agents and nobody else."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.utils import timezone

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.log_lines import LINES, LONGEST
from agui_host.runtimes.context.run_context import RunContext
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from runs.access import sharing
from runs.access.sharing import Terms, To
from runs.lifecycle.deletion import retention
from runs.models import Failure, Level, Run
from runs.worker.failures import MOST_FRAMES, describe, store
from tests.asgi import ask
from tests.cast import Actor, Cast, Register, perform, start
from tests.dashboard.conftest import Browse, browse
from tests.runs.playing import SECRET, Play

__all__ = ["browse"]

pytestmark = pytest.mark.django_db(transaction=True)

MARK = "charge-4711"
"""Stands in the details, and may stand nowhere else."""


class CardDeclined(Exception):
    pass


def charge(depth: int = 0) -> None:
    if depth:
        charge(depth - 1)
    try:
        {}["stripe"]
    except KeyError as error:
        raise CardDeclined(f"{MARK} was declined") from error


async def billing(ctx: Any) -> AsyncIterator[str]:
    yield "I will charge the card."
    for n in range(60):
        ctx.log.bind(card="4242").info("charging", attempt=n, password="hunter2")
    charge()


def url(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/failure"


async def test_it_says_where_and_why(cast: Cast, play: Play) -> None:
    run, _ = await play(billing)
    answer = await ask("GET", url(run), cast.alice.headers)
    assert answer.status == 200
    details = answer.json
    assert details["exception"].endswith("test_failures.CardDeclined")
    assert details["message"] == f"{MARK} was declined"
    assert details["causes"] == [{"exception": "KeyError", "message": "'stripe'"}]
    frames = [(f["module"].split(".")[-1], f["file"], f["function"]) for f in details["frames"]]
    assert frames == [
        ("test_failures", "test_failures.py", "billing"),
        ("test_failures", "test_failures.py", "charge"),
    ]
    assert all(frame["line"] > 0 for frame in details["frames"])
    assert len(details["log"]) == LINES
    last = details["log"][-1]
    assert last["level"] == "info"
    assert last["text"] == "charging attempt=59 password=[secret]"
    assert abs(last["at"] / 1000 - timezone.now().timestamp()) < 600


async def test_for_nobody_else_and_nowhere_else(cast: Cast, play: Play, browse: Browse) -> None:
    run, log = await play(billing)

    def addresses() -> list[str]:
        _, token = sharing.share(cast.alice.principal, run, sharing.To(), sharing.Terms())
        sharing.share(
            cast.alice.principal, run, To(team=cast.other_team.pk), Terms(level=Level.CONTROL)
        )
        return [f"/shared/{token}/", *(f"/shared/{token}/runs/{run.pk}/{part}" for part in (
            "events", "outline", "status",
        ))]  # fmt: skip

    async def status(actor: Actor | None) -> int:
        return (await ask("GET", url(run), actor.headers if actor else {})).status

    assert [await status(actor) for actor in (None, cast.bob, cast.vera, cast.charlie)] == [
        401, 403, 403, 404,
    ]  # fmt: skip
    shared = await db(addresses)
    assert await status(cast.charlie) == 403, "a grant does not say how an agent is made"
    assert MARK not in json.dumps(log)
    api = f"/api/v1/runs/{run.pk}"
    for address in (api, f"{api}/events", f"{api}/outline", "/api/v1/runs", f"{api}/context"):
        for actor in (cast.alice, cast.bob):
            assert MARK not in (await ask("GET", address, actor.headers)).body.decode()
    for address in shared:
        answer = await ask("GET", address)
        assert answer.status == 200
        assert MARK not in answer.body.decode()

    def pages() -> list[bool]:
        return [
            MARK in browse(actor).get(f"/runs/{run.pk}/").content.decode()
            for actor in (cast.alice, cast.bob, cast.vera, cast.charlie)
        ]

    assert await db(pages) == [True, False, False, False]
    assert await db(lambda: MARK in browse(cast.alice).get("/runs/").content.decode()) is False


@pytest.mark.parametrize(
    ("last", "where"),
    [
        ([], "before the tool call charge had a result"),
        (["TOOL_CALL_END"], "before the tool call charge had a result"),
        (["TOOL_CALL_END", "TOOL_CALL_RESULT"], "after the tool call charge"),
    ],
)
async def test_the_page_says_in_a_sentence_what_happened_before(
    cast: Cast, play: Play, browse: Browse, last: list[str], where: str
) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "STEP_STARTED", "stepName": "pay"}
        for n in range(9):
            yield {"type": "STEP_STARTED", "stepName": f"early-{n}"}
            yield {"type": "STEP_FINISHED", "stepName": f"early-{n}"}
        yield {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "charge"}
        for type in last:
            yield {"type": type, "toolCallId": "c", "messageId": "r", "content": "ok"}
        charge()

    run, _ = await play(agent)
    page = await db(lambda: browse(cast.alice).get(f"/runs/{run.pk}/").content.decode())
    assert f"subject raised CardDeclined {where}" in page
    before = page.partition('<ol class="before">')[2].partition("</ol>")[0]
    assert before.count("<li>") == 10
    assert "early-8" in before
    assert "agent_error" not in before


async def test_the_page_counts_the_runs_that_failed_at_the_same_place(
    cast: Cast, register: Register, writer: JournalWriter, browse: Browse
) -> None:
    async def elsewhere(ctx: Any) -> AsyncIterator[str]:
        yield "I will charge another card."
        charge(1)
        raise ValueError

    agents = [await db(register, name, code) for name, code in
              (("one", billing), ("two", elsewhere), ("three", lambda ctx: 1 / 0))]  # fmt: skip
    runs = []
    for number, agent in enumerate([agents[0], agents[0], agents[1], agents[2]]):
        began = await db(start, cast.alice, agent, threadId=f"t{number}")
        runs.append(await perform(began, writer))

    def pages() -> list[str]:
        return [browse(cast.alice).get(f"/runs/{run.pk}/").content.decode() for run in runs]

    first, _, third, last = await db(pages)
    assert "The same failure: 2 other runs, first seen" in first
    assert f'href="/runs/{runs[1].pk}/"' in first
    assert "The same failure: 2 other runs" in third
    assert "The same failure" not in last


async def test_it_is_purged_with_its_run(cast: Cast, play: Play) -> None:
    run, _ = await play(billing)
    await db(retention.purge_thread, run.thread_id, timezone.now())
    assert await db(Failure.objects.filter(run=run).count) == 0
    assert (await ask("GET", url(run), cast.alice.headers)).status == 404


async def emits_error(ctx: Any) -> AsyncIterator[Any]:
    ctx.log.warning("the model refused", reason=MARK)
    yield {"type": "RUN_ERROR", "message": "no", "code": "x"}


async def breaks_a_rule(ctx: Any) -> AsyncIterator[Any]:
    ctx.log.warning("the model refused", reason=MARK)
    yield {"type": "TEXT_MESSAGE_END", "messageId": "never-begun"}


@pytest.mark.parametrize("agent", [emits_error, breaks_a_rule])
async def test_an_agent_that_fails_without_an_exception_has_its_log_lines(
    cast: Cast, play: Play, agent: Any
) -> None:
    run, log = await play(agent, policy="fail")
    assert log[-1]["type"] == "RUN_ERROR"
    details = (await ask("GET", url(run), cast.alice.headers)).json
    assert [line["text"] for line in details["log"]] == [f"the model refused reason={MARK}"]
    assert details["frames"] == []


async def test_a_run_that_went_well_has_none(cast: Cast, play: Play) -> None:
    run, _ = await play(lambda ctx: ctx.log.info("fine"))
    assert (await ask("GET", url(run), cast.alice.headers)).status == 404
    assert not await db(Failure.objects.exists)


class TestDescribe:
    def test_secrets_are_left_out(
        self, cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.SECRET_KEY = "the-hosts-own-signing-key-0123456789"
        monkeypatch.setenv("BILLING_API_KEY", "from-the-environment")
        agent = Agent(team=cast.team, slug="a", settings={"nested": {"db_password": "in-settings"}})
        agent.seal({"headers": {"Authorization": "Scheme stored-secret"}})
        secrets = {
            settings.SECRET_KEY, "from-the-environment", "in-settings", "stored-secret", "hunter2",
            "sk-proj-abcdefghijklmnop", "AKIAABCDEFGHIJKLMNOP", "ghp_abcdefghijklmnopqrst",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "b64-Secret-of-bearer",
            "MIIEvQIBADANBgkqhkiG9w0",
        }  # fmt: skip
        texts = [
            f"{settings.SECRET_KEY}; from-the-environment in-settings stored-secret",
            f"cannot connect to {SECRET}", "curl -H 'Authorization: Bearer b64-Secret-of-bearer'",
            "sk-proj-abcdefghijklmnop AKIAABCDEFGHIJKLMNOP ghp_abcdefghijklmnopqrst",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "{'password': 'hunter2', \"api_key\": \"hunter2\"} token=hunter2",
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----",
        ]  # fmt: skip
        for text in texts:
            error = RuntimeError(f"before {text} after")
            error.__cause__ = ValueError(text)
            stored = json.dumps(describe(agent, error, ()))
            assert not [secret for secret in secrets if secret in stored], stored
            assert "before" in stored

    def test_its_size_is_bounded(self, cast: Cast) -> None:
        agent, run = Agent(team=cast.team, slug="a"), start(cast.alice)

        def deep(n: int) -> None:
            if n == 0:
                raise RuntimeError("\0\ud800" + "password=x " * 1_000_000)
            deep(n - 1)

        with pytest.raises(RuntimeError) as caught:
            deep(200)
        ctx = _context()
        for n in range(1_000):
            ctx.log.info("x" * 100_000, value="y" * 100_000, n=n)
        assert {len(line.text) for line in ctx.log_lines} == {LONGEST}
        details = describe(agent, caught.value, ctx.log_lines)
        store(run.pk, cast.team.pk, details)
        stored = Failure.objects.get(run=run).details
        assert "\\u0000\ufffd" in stored
        assert len(details["frames"]) == MOST_FRAMES
        assert len(json.dumps(details)) < 60_000

    def test_what_cannot_be_shown_does_no_harm(self, cast: Cast) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise RuntimeError(SECRET)

        error = Unspeakable()
        error.__cause__ = error  # a circle
        details = describe(Agent(team=cast.team, slug="a"), error, ())
        assert details["message"] == "(its message cannot be shown)"
        assert details["causes"] == []
        ctx = _context()
        ctx.log.info("%s", error)
        ctx.log.info("%d", "no number")
        assert len(ctx.log_lines) == 2


def _context() -> Any:
    return RunContext({"threadId": "t", "runId": "r", "messages": []}, agent="a")
