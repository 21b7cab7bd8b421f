"""A run through its agent's middleware: the log has what came out, and the run ends as without."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import EventType, TextMessageContentEvent, TextMessageStartEvent
from django.core.exceptions import ValidationError
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.middleware import chain
from agui_host.runtimes.middleware.base import Middleware
from agui_host.runtimes.models import Agent
from agui_host.security import secrets
from events.models import Event
from events.writer import JournalWriter
from runs.lifecycle import lifecycle
from runs.models import Run
from runs.worker.executor import Stop, execute
from tests.cast import Cast, Register, fresh, perform, start
from tests.runs.playing import Play, after_prefix, failure, kept_prefix, settled

pytestmark = pytest.mark.django_db(transaction=True)

THROTTLE = [{"name": "throttle", "ms": 10_000}]
KEY = "sk-abcdefghijklmnop"
REDACT = [{"name": "redact", "patterns": ["sk-[a-z]+"]}]


def text(delta: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}


def read(log: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in log if event["type"] == "TEXT_MESSAGE_CONTENT"]


async def test_the_log_has_what_came_out(play: Play) -> None:
    run, log = await play(after_prefix(text(" sk-abc"), text("def.")), middleware=REDACT + THROTTLE)
    assert run.status == "succeeded"
    assert read(log) == ["so far so good [redacted]."]


async def test_deltas_that_wait_for_their_turn_pass_it_as_well(play: Play) -> None:
    _, log = await play(after_prefix(*[text(f" {KEY}")] * 9), middleware=REDACT)
    assert "".join(read(log)) == "so far so good" + " [redacted]" * 9


async def test_objects_of_the_sdk_and_chunks_arrive_as_plain_events(play: Play) -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "sk-abc"}
    custom = {"type": "CUSTOM", "name": "x", "value": 1}

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        kind = EventType.TEXT_MESSAGE_START
        yield TextMessageStartEvent(type=kind, message_id="m", role="assistant")
        kind = EventType.TEXT_MESSAGE_CONTENT
        yield TextMessageContentEvent(type=kind, message_id="m", delta="sk-abc")
        yield {"type": "TEXT_MESSAGE_END", "message_id": "m"}
        yield chunk
        yield {**chunk, "delta": "def"}
        yield custom

    run, log = await play(agent, middleware=REDACT)
    assert run.status == "succeeded"
    assert [event["type"] for event in log[1:-1]] == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "CUSTOM",
    ]  # fmt: skip
    assert read(log) == ["[redacted]", "[redacted]"]


async def test_what_was_said_before_an_exception_stays(play: Play) -> None:
    broken = after_prefix(text(f" {KEY}"), fail=RuntimeError("no"))
    run, log = await play(broken, middleware=[*THROTTLE, {**REDACT[0], "hold": 8}])
    assert failure(run, log)[0] == "agent_error"
    assert read(log) == ["so far so good "], "what may be half a secret does not"


@pytest.mark.parametrize("bad", [7, {"no": "type"}, {"type": "TEXT_MESSAGE_CONTENT"}], ids=repr)
async def test_rubbish_is_refused_as_without(play: Play, bad: Any) -> None:
    run, log = await play(after_prefix(bad), middleware=THROTTLE, policy="fail")
    assert failure(run, log)[0] == "invalid_event"
    assert kept_prefix(log)


async def test_an_unknown_type_is_wrapped_and_found_once(play: Play) -> None:
    run, log = await play(after_prefix({"type": "NEW", "x": 1}), middleware=THROTTLE)
    assert log[3]["event"] == {"type": "NEW", "x": 1}
    findings = await db(lambda: list(run.journal.findings.values_list("rule", "times")))
    assert findings == [("unknown_type", 1)]


async def test_a_cancel_keeps_what_was_held(
    cast: Cast, register: Register, writer: JournalWriter
) -> None:
    stopped = asyncio.Event()

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
        yield text("held")
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    run, log = await cancelled(cast, register, writer, agent, THROTTLE)
    assert stopped.is_set()
    assert run.status == "cancelled"
    assert read(log) == ["held"]


async def cancelled(
    cast: Cast, register: Register, writer: JournalWriter, target: Any, middleware: Any
) -> tuple[Run, list[dict[str, Any]]]:
    agent = await db(register, "subject", target, middleware=middleware)
    run = await db(start, cast.alice, agent)
    claimed = await db(lifecycle.claim, run.pk)
    assert claimed
    task = asyncio.create_task(execute(claimed, writer, lambda: Stop.CANCEL))
    while not await db(Event.objects.filter(journal_id=run.pk, seq=2).exists):
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 20)
    return await settled(await db(fresh, run))


class Broken(Middleware):
    """Raises with each event, and again at the end."""

    def feed(self, event: Any) -> Any:
        raise ValueError("hunter2")

    def rest(self) -> Any:
        raise ValueError("hunter2")


async def test_middleware_that_breaks_ends_the_run_once(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "MIDDLEWARE", {"broken": Broken})
    run, log = await play(after_prefix(), middleware=[{"name": "broken"}])
    assert failure(run, log)[0] == "agent_error"


async def test_a_chain_that_got_past_the_check_ends_the_run(
    cast: Cast, writer: JournalWriter
) -> None:
    await db(lambda: Agent.objects.update(middleware=[{"name": "gone"}]))
    run, log = await settled(await perform(await db(start, cast.alice), writer))
    code, message = failure(run, log)
    assert code == "agent_error"
    assert "middleware[0]" in message


def test_an_agent_is_not_saved_with_a_chain_that_cannot_run(cast: Cast) -> None:
    agent = cast.echo
    agent.middleware = [{"name": "throttle", "ms": 0}]
    with pytest.raises(ValidationError, match="throttle"):
        agent.full_clean()
    with pytest.raises(ValidationError, match="throttle"):
        agent.save()
    agent.middleware = [*THROTTLE, {"name": "log"}]
    agent.full_clean()
    agent.save()
    assert [entry["name"] for entry in cast.echo.middleware] == ["throttle", "log"]


class TestKeys:
    """An API key in a chain is sealed in the database, and read only by a run."""

    ENTRY = {"name": "citations", "verifier": {"kind": "http", "url": "https://verify.example"}}

    def saved(self, cast: Cast, *entries: dict[str, Any], **how: Any) -> Agent:
        agent = cast.echo
        agent.middleware = list(entries)
        agent.save(**how)
        return cast.echo

    def with_key(self, key: Any) -> dict[str, Any]:
        return {**self.ENTRY, "verifier": {**self.ENTRY["verifier"], "api_key": key}}

    @pytest.mark.parametrize("how", [{}, {"update_fields": ["middleware"]}], ids=["all", "one"])
    def test_it_is_sealed_and_comes_out_for_a_run(self, cast: Cast, how: Any) -> None:
        agent = self.saved(cast, self.with_key("sk-dc-1"), {"name": "log"}, **how)
        assert "sk-dc-1" not in f"{agent.middleware}{agent.secrets}"
        assert agent.middleware[0]["verifier"]["api_key"].keys() == {"secret"}
        assert agent.chain()[0] == self.with_key("sk-dc-1")

    def test_saving_what_one_was_shown_keeps_it(self, cast: Cast) -> None:
        first = self.saved(cast, self.with_key("sk-dc-1"))
        again = self.saved(cast, {"name": "log"}, *first.middleware)
        assert again.chain()[1] == self.with_key("sk-dc-1")
        assert again.secrets == first.secrets
        assert self.saved(cast, {"name": "log"}).secrets == ""

    def test_other_secrets_stay(self, cast: Cast) -> None:
        agent = self.saved(cast, self.with_key("sk-dc-1"))
        agent.seal({"headers": {"x": "y"}})
        agent.save()
        assert cast.echo.unsealed()["headers"] == {"x": "y"}
        assert cast.echo.chain()[0] == self.with_key("sk-dc-1")
        assert self.saved(cast, {"name": "log"}).unsealed() == {"headers": {"x": "y"}}

    def test_a_name_that_was_made_up_is_no_key(self, cast: Cast) -> None:
        agent = self.saved(cast, self.with_key({"secret": "made-up"}))
        assert agent.chain()[0]["verifier"]["api_key"] is None
        chain.parse(agent.chain())

    def test_it_is_sealed_again_when_keys_rotate(self, cast: Cast, settings: Settings) -> None:
        before = self.saved(cast, self.with_key("sk-dc-1")).secrets
        settings.AGUI_SECRETS_KEYS = ["a new key of more than thirty-two characters"]
        assert secrets.rotate_all() == (1, 0)
        assert cast.echo.secrets != before
        assert cast.echo.chain()[0] == self.with_key("sk-dc-1")


async def test_keys_that_cannot_be_read_end_the_run(cast: Cast, writer: JournalWriter) -> None:
    entry = {"name": "citations", "verifier": {"kind": "http", "url": "https://x", "api_key": "k"}}

    def broken() -> None:
        agent = cast.echo
        agent.middleware = [entry]
        agent.save()
        Agent.objects.update(secrets="rubbish")

    await db(broken)
    run, log = await settled(await perform(await db(start, cast.alice), writer))
    assert failure(run, log)[0] == "agent_error"
