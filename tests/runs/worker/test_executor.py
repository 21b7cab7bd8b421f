"""Whatever an agent does, its run ends once: one terminal event, and the status that it says."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import EventType, TextMessageStartEvent
from pytest_django import Settings

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.models import Agent
from events.writer import JournalWriter
from events.writer.lease import IN_FLIGHT, Lease
from runs.lifecycle import lifecycle
from tests.cast import Cast, perform, start
from tests.runs.playing import (
    PREFIX,
    SECRET,
    Play,
    after_prefix,
    failure,
    kept_prefix,
    settled,
)

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_default_agent_answers(cast: Cast, writer: JournalWriter) -> None:
    run = await db(start, cast.alice, messages=[{"role": "user", "content": "hello"}])
    ended, log = await settled(await perform(run, writer))
    assert ended.status == "succeeded"
    assert [e["delta"] for e in log if "delta" in e] == ["hello"]


async def test_an_agent_that_says_nothing_succeeds(play: Play) -> None:
    _, log = await play(lambda ctx: None)
    assert [event["type"] for event in log] == ["RUN_STARTED", "RUN_FINISHED"]
    assert (log[0]["threadId"], log[0]["runId"]) == ("t", "r")


async def test_each_end_is_one_line_of_the_log(
    cast: Cast, play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    """With ids and figures; what the agent calls its own error stays out of it."""
    error = {"type": "RUN_ERROR", "message": SECRET, "code": SECRET}
    played, log = await play(after_prefix(error))
    queued = await db(start, cast.alice, threadId="queued")
    await db(lifecycle.cancel, queued)
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    ends = [line for line in lines if line["event"] == "run.ended"]
    assert [(line["run"], line["status"], line["events"], line["error"]) for line in ends] == [
        (str(played.pk), "failed", len(log), "other"),
        (str(queued.pk), "cancelled", 2, None),
    ]
    assert {line["team"] for line in ends} == {str(cast.alice.team.pk)}
    assert ends[0]["seconds"] >= 0
    assert SECRET not in repr(lines)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        ValueError({"dsn": SECRET}),
        KeyError(SECRET),
        Unspeakable(),
        ExceptionGroup(SECRET, [ValueError(SECRET)]),
        SystemExit(SECRET),
        asyncio.CancelledError(SECRET),
        StopAsyncIteration(SECRET),
        TimeoutError(SECRET),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_agent_that_raises(play: Play, error: BaseException) -> None:
    run, log = await play(after_prefix(fail=error))
    code, message = failure(run, log)
    assert code == "agent_error"
    assert message
    assert kept_prefix(log)


async def test_an_agent_that_raises_before_its_first_event(play: Play) -> None:
    def agent(ctx: Any) -> None:
        raise RuntimeError(SECRET)

    run, log = await play(agent)
    assert failure(run, log)[0] == "agent_error"
    assert len(log) == 2


@pytest.mark.parametrize(
    ("rubbish", "code"),
    [
        (None, "invalid_event"),
        (5, "invalid_event"),
        (b"bytes", "invalid_event"),
        ([], "invalid_event"),
        ({}, "invalid_event"),
        ({"type": 5}, "invalid_event"),
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m"}, "invalid_event"),
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 5}, "invalid_event"),
        ({"type": "STATE_DELTA", "delta": "x"}, "invalid_event"),
        ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "x", "delta": "d"}, "invalid_order"),
        ({"type": "TEXT_MESSAGE_START", "messageId": "m"}, "invalid_order"),
        ({"type": "TOOL_CALL_END", "toolCallId": "never-begun"}, "invalid_order"),
        ({"type": "STEP_FINISHED", "stepName": "never-begun"}, "invalid_order"),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", repr(value)),  # the same in every process
)
async def test_an_agent_that_yields_rubbish(play: Play, rubbish: Any, code: str) -> None:
    run, log = await play(after_prefix(rubbish), policy="fail")
    code_found, message = failure(run, log)
    assert code_found == code
    assert message
    assert kept_prefix(log)


async def test_an_unknown_type_is_wrapped(play: Play) -> None:
    run, log = await play(after_prefix({"type": "FROM_THE_FUTURE", "x": 1}))
    assert run.status == "succeeded"
    assert log[3]["type"] == "RAW"
    assert log[3]["event"] == {"type": "FROM_THE_FUTURE", "x": 1}


async def test_odd_text_is_stored_as_it_can_be(play: Play) -> None:
    run, log = await play(after_prefix({"type": "CUSTOM", "name": "n", "value": "nul\x00 \ud800!"}))
    assert run.status == "succeeded"
    assert log[3]["value"] == "nul\x00 \ufffd!"


async def test_an_event_that_is_too_large(play: Play, settings: Settings) -> None:
    settings.AGUI_MAX_EVENT_BYTES = 10_000
    run, log = await play(after_prefix({"type": "CUSTOM", "name": "n", "value": "x" * 20_000}))
    assert failure(run, log)[0] == "event_too_large"
    assert kept_prefix(log)


async def test_questions_that_are_too_large(play: Play, settings: Settings) -> None:
    settings.AGUI_MAX_EVENT_BYTES = 10_000
    ask = {"type": "CUSTOM", "name": "on_interrupt", "value": "x" * 4_000}
    run, log = await play(after_prefix(ask, ask, ask))
    assert failure(run, log)[0] == "event_too_large"
    assert sum(event["type"] == "CUSTOM" for event in log) == 3


async def test_an_agent_that_never_ends(play: Play) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in PREFIX:
            yield event
        await asyncio.Event().wait()

    run, log = await play(agent, timeout_seconds=0.2)
    code, message = failure(run, log)
    assert (code, "0.2 seconds" in message) == ("timeout", True)
    assert kept_prefix(log)


async def test_an_agent_that_floods_is_slowed_and_loses_nothing(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0
    append = Lease.append

    def watched(lease: Any, *args: Any, **kwargs: Any) -> int:
        nonlocal most
        size = append(lease, *args, **kwargs)
        most = max(most, lease.in_flight)
        return size

    monkeypatch.setattr(Lease, "append", watched)
    delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "."}
    run, log = await play(after_prefix(*[delta] * 10 * IN_FLIGHT))
    assert run.status == "succeeded"
    assert len(log) == 10 * IN_FLIGHT + 5
    assert most <= IN_FLIGHT + 2


async def test_a_flood_without_end_is_timed_out(play: Play) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        while True:
            yield {"type": "CUSTOM", "name": "n", "value": 1}

    run, log = await play(agent, timeout_seconds=0.3)
    assert failure(run, log)[0] == "timeout"


async def test_what_comes_after_the_terminal_event_is_dropped(play: Play) -> None:
    end = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"n": 1}}
    late = {"type": "CUSTOM", "name": "late", "value": 1}
    close = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    run, log = await play(after_prefix(close, end, late, end, fail=RuntimeError(SECRET)))
    assert (run.status, run.result) == ("succeeded", '{"n":1}')
    assert log[-1]["result"] == {"n": 1}
    assert "late" not in str(log)


async def test_an_agents_own_frame_carries_the_runs_ids(play: Play) -> None:
    opening = {"type": "RUN_STARTED", "threadId": "mine", "runId": "mine"}
    ending = {"type": "RUN_FINISHED", "threadId": "mine", "runId": "mine"}

    async def agent(ctx: Any) -> AsyncIterator[Any]:
        for event in (opening, ending):
            yield event

    run, log = await play(agent)
    assert run.status == "succeeded"
    assert [event["type"] for event in log] == ["RUN_STARTED", "RUN_FINISHED"]
    assert {(event["threadId"], event["runId"]) for event in log} == {("t", "r")}


async def test_a_second_run_started_is_bad_order(play: Play) -> None:
    opening = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    run, log = await play(after_prefix(opening, opening))
    assert failure(run, log)[0] == "invalid_order"


async def test_an_agents_own_run_error(play: Play) -> None:
    error = {"type": "RUN_ERROR", "message": "out of \x00paper", "code": "printer_" * 10}
    run, log = await play(after_prefix(error))
    assert (run.status, run.error_message) == ("failed", "out of paper")
    assert run.error_code == ("printer_" * 10)[:40]
    assert log[-1]["code"] == error["code"]
    assert kept_prefix(log)


async def test_an_agent_that_finishes_with_open_parts(play: Play) -> None:
    run, log = await play(after_prefix())
    assert run.status == "succeeded"
    assert kept_prefix(log)


async def test_sdk_events_and_dicts_mix(play: Play) -> None:
    async def agent(ctx: Any) -> AsyncIterator[Any]:
        yield TextMessageStartEvent(
            type=EventType.TEXT_MESSAGE_START, message_id="m", role="assistant"
        )
        yield PREFIX[1]

    run, log = await play(agent)
    assert run.status == "succeeded"
    assert kept_prefix(log)


async def test_code_that_this_host_does_not_have(cast: Cast, writer: JournalWriter) -> None:
    await db(lambda: Agent.objects.update(target="gone"))
    run = await db(start, cast.alice)
    ended, log = await settled(await perform(run, writer))
    assert failure(ended, log)[0] == "agent_error"
