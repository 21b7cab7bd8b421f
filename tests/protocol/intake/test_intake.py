import json
from itertools import count
from typing import Any

import pytest
from ag_ui.core import Event as SdkEvent
from ag_ui.core import (
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.verifier import Verifier
from tests.protocol.legal import damaged, streams

SDK = TypeAdapter[Any](SdkEvent)
HELLO = {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"}
DELTA = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hello"}
BYE = {"type": "TEXT_MESSAGE_END", "messageId": "m1"}
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "ask"}
CALLED = {"type": "TOOL_CALL_END", "toolCallId": "c1"}


class Log:
    """An intake and everything it has let through."""

    def __init__(self, **options: Any) -> None:
        ticks = count(1_700_000_000)
        self.intake = Intake("t1", "r1", clock=lambda: float(next(ticks)), **options)
        self.records: list[Record] = []

    def take(self, *events: Any) -> "Log":
        for event in events:
            self.records += self.intake.accept(event)
        return self

    def add(self, records: list[Record]) -> "Log":
        self.records += records
        return self

    @property
    def types(self) -> list[str]:
        return [record.type for record in self.records]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(record.payload) for record in self.records]


def refused(log: Log, event: Any) -> RunErrorCode:
    before = list(log.records)
    with pytest.raises(RunFailed) as caught:
        log.take(event)
    assert log.records == before
    return caught.value.reason


def check(log: Log) -> None:
    """What is stored is a legal 1.0 run by our verifier, and valid by the SDK's models."""
    verifier = Verifier()
    for record, event in zip(log.records, log.events, strict=True):
        assert record.type == event["type"]
        assert "_CHUNK" not in record.type
        assert isinstance(event["timestamp"], int)
        verifier.feed(event)
        SDK.validate_python(event)
    assert verifier.ended == log.types[-1]
    assert log.intake.terminal == log.events[-1]


def test_a_text_answer_gets_its_start_and_its_end() -> None:
    log = Log().take(HELLO, DELTA, BYE)
    log.add(log.intake.finish())
    assert log.types == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert log.events[0] == {
        "type": "RUN_STARTED",
        "threadId": "t1",
        "runId": "r1",
        "protocolVersion": "1.0",
        "timestamp": log.events[0]["timestamp"],
    }
    assert log.intake.ended
    check(log)


def test_the_input_is_echoed_with_its_parent_run() -> None:
    body = {
        "threadId": "t1",
        "runId": "r1",
        "parentRunId": "r0",
        "messages": [{"id": "u1", "role": "user", "content": "hi", "extra": 1}],
        "state": None,
        "tools": [],
    }
    log = Log(input=body).add(Log(input=body).intake.start())
    echoed = log.events[0]
    assert echoed["parentRunId"] == "r0"
    assert echoed["input"] == {
        "threadId": "t1",
        "runId": "r1",
        "parentRunId": "r0",
        "messages": [{"id": "u1", "role": "user", "content": "hi"}],
        "tools": [],
    }


@pytest.mark.parametrize("body", [{"messages": "x"}, {"messages": [], "state": "y" * 5000}])
def test_an_input_that_cannot_be_echoed_does_not_stop_the_run(body: dict[str, Any]) -> None:
    body = {"threadId": "t1", "runId": "r1", **body}
    log = Log(input=body, max_bytes=1000)
    log.add(log.intake.start()).add(log.intake.finish())
    assert log.types == ["RUN_STARTED", "RUN_FINISHED"]
    assert "input" not in log.events[0]
    check(log)


def test_the_agents_own_start_and_end_take_the_runs_ids() -> None:
    log = Log()
    log.take(RunStartedEvent(thread_id="lg-thread", run_id="lg-run"), HELLO, BYE)
    log.take({"type": "RUN_FINISHED", "thread_id": 7, "result": {"ok": True}})
    assert [event.get("runId") for event in log.events] == ["r1", None, None, "r1"]
    assert [event.get("threadId") for event in log.events] == ["t1", None, None, "t1"]
    check(log)


def test_the_agents_first_start_is_absorbed_once() -> None:
    log = Log()
    log.add(log.intake.start())
    start = {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1"}
    log.take(start, HELLO)
    assert log.types == ["RUN_STARTED", "TEXT_MESSAGE_START"]
    assert refused(log, start) == RunErrorCode.INVALID_ORDER


def test_sdk_objects_and_snake_case_dicts_are_taken() -> None:
    log = Log().take(
        TextMessageStartEvent(message_id="m1"),
        TextMessageContentEvent(message_id="m1", delta="a"),
        {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m1", "delta": "b", "subagent_run_id": None},
        BYE,
        RunFinishedEvent(thread_id="t1", run_id="r1"),
    )
    deltas = [event["delta"] for event in log.events if "delta" in event]
    assert deltas == ["a", "b"]
    check(log)


def test_a_missing_timestamp_is_the_hosts_milliseconds() -> None:
    log = Log().take({**HELLO, "timestamp": 1_700_000_000_005}, DELTA)
    assert log.events[1]["timestamp"] == 1_700_000_000_005
    assert log.events[2]["timestamp"] == int(log.records[2].at * 1000)


def test_calls_without_result_wait_for_the_application() -> None:
    others = [{**event, "toolCallId": name} for name in ("c2", "c3") for event in (CALL, CALLED)]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c2", "content": "42"}
    log = Log().take(CALL, CALLED, *others, result)
    log.take(
        {
            "type": "RUN_FINISHED",
            "outcome": {"type": "success", "pendingToolCallIds": ["made-up"]},
            "threadId": "t1",
            "runId": "r1",
        }
    )
    assert log.events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["c1", "c3"]}
    check(log)


def test_nothing_waits_where_every_call_has_its_result() -> None:
    result = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c1", "content": "42"}
    log = Log().take(CALL, CALLED, result)
    log.add(log.intake.finish({"type": "success", "pendingToolCallIds": ["c1"]}))
    assert log.events[-1]["outcome"] == {"type": "success"}


def open_everything(**options: Any) -> Log:
    return Log(**options).take(
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "helper"},
        {
            "type": "SUBAGENT_STARTED",
            "subagentRunId": "s2",
            "name": "its helper",
            "parentSubagentRunId": "s1",
        },
        {"type": "STEP_STARTED", "stepName": "plan"},
        {"type": "STEP_STARTED", "stepName": "plan", "subagentRunId": "s1"},
        {"type": "REASONING_START", "messageId": "m1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "m1"},
        HELLO,
        {**CALL, "subagentRunId": "s2"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2", "delta": "x", "subagentRunId": "s1"},
    )


CLOSINGS = [
    ("TOOL_CALL_END", "s2"),
    ("TEXT_MESSAGE_END", "s1"),
    ("TEXT_MESSAGE_END", None),
    ("REASONING_MESSAGE_END", None),
    ("REASONING_END", None),
    ("STEP_FINISHED", "s1"),
    ("STEP_FINISHED", None),
]


def test_cancel_closes_what_is_open_inner_first() -> None:
    log = open_everything()
    known = len(log.records)
    log.add(log.intake.cancel())
    closed = [(event["type"], event.get("subagentRunId")) for event in log.events[known:]]
    errors = [("SUBAGENT_ERROR", "s2"), ("SUBAGENT_ERROR", "s1")]
    assert closed == [*CLOSINGS, *errors, ("RUN_FINISHED", None)]
    assert log.events[-1]["outcome"] == {"type": "cancelled"}
    check(log)


def test_an_interrupt_suspends_the_subagents() -> None:
    log = open_everything()
    log.add(log.intake.finish({"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}))
    assert log.events[-2]["outcome"] == {"type": "suspended"}
    check(log)


def test_fail_says_why_and_no_more_than_2000_characters() -> None:
    log = open_everything()
    log.add(log.intake.fail(RunErrorCode.TIMEOUT, "\ud800" + "x" * 5000))
    assert log.events[-1]["code"] == "timeout"
    assert log.events[-1]["message"] == "\ufffd" + "x" * 1999
    assert log.types.count("SUBAGENT_ERROR") == 2
    check(log)


def test_what_the_agent_left_open_is_closed_before_its_own_error() -> None:
    log = open_everything().take({"type": "RUN_ERROR", "message": "no more tokens"})
    assert log.types[-8:-3] == [kind for kind, _ in CLOSINGS[2:]]
    assert log.events[-1]["message"] == "no more tokens"
    check(log)


def test_an_interrupt_list_with_a_double_id_leaves_the_run_as_it_was() -> None:
    log = open_everything(repair=False)
    twice = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}] * 2}
    with pytest.raises(RunFailed):
        log.intake.finish(twice)
    log.take(DELTA).add(log.intake.cancel())
    check(log)


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_a_run_that_never_began_still_gets_both_ends(end: str) -> None:
    log = Log()
    log.add(getattr(log.intake, end)())
    assert log.types == ["RUN_STARTED", "RUN_FINISHED"]
    check(log)


def test_there_is_one_terminal_event() -> None:
    log = Log()
    log.add(log.intake.finish())
    assert log.intake.finish() == log.intake.cancel() == log.intake.start() == []
    assert log.intake.fail(RunErrorCode.TIMEOUT, "late") == []
    assert refused(log, HELLO) == RunErrorCode.INVALID_ORDER
    assert refused(log, {"type": "RUN_ERROR", "message": "late"}) == RunErrorCode.INVALID_ORDER
    check(log)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (None, RunErrorCode.INVALID_EVENT),
        ("rubbish", RunErrorCode.INVALID_EVENT),
        ({}, RunErrorCode.INVALID_EVENT),
        ({**DELTA, "delta": 5}, RunErrorCode.INVALID_EVENT),
        ({**DELTA, "messageId": "other"}, RunErrorCode.INVALID_ORDER),
        ({"type": "RUN_FINISHED"}, RunErrorCode.INVALID_ORDER),
        ({**DELTA, "delta": "x" * 2000}, RunErrorCode.EVENT_TOO_LARGE),
        ({"type": "CUSTOM", "name": "n", "value": ["x" * 999] * 2}, RunErrorCode.EVENT_TOO_LARGE),
        ({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}, RunErrorCode.INVALID_ORDER),
        ({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1"}, RunErrorCode.INVALID_ORDER),
    ],
)
@pytest.mark.parametrize("chunking", [False, True])
def test_what_is_refused_leaves_no_trace(event: Any, reason: RunErrorCode, chunking: bool) -> None:
    log = Log(max_bytes=1000, repair=False).take(HELLO, DELTA)
    if chunking:
        log.take({"type": "TOOL_CALL_CHUNK", "toolCallId": "c1", "toolCallName": "ask"})
    assert refused(log, event) == reason
    if chunking:
        log.take({"type": "TOOL_CALL_CHUNK", "delta": "{}"})
    log.take(DELTA).add(log.intake.fail(reason, "That was not AG-UI."))
    check(log)


def test_a_refused_first_event_can_still_be_followed_by_the_end() -> None:
    log = Log(repair=False)
    assert refused(log, DELTA) == RunErrorCode.INVALID_ORDER
    assert not log.intake.started
    log.add(log.intake.fail(RunErrorCode.INVALID_ORDER, "CONTENT before START."))
    assert log.types == ["RUN_STARTED", "RUN_ERROR"]
    check(log)


def test_a_reopened_empty_log_can_be_cancelled() -> None:
    intake = Intake.reopened("t1", "r1", head=0)
    assert [record.type for record in intake.cancel()] == ["RUN_STARTED", "RUN_FINISHED"]


def test_a_reopened_log_can_only_fail() -> None:
    intake = Intake.reopened("t1", "r1", head=7)
    assert intake.started
    assert intake.start() == []
    for verb in (intake.cancel, intake.finish, lambda: intake.accept(HELLO)):
        with pytest.raises(RunFailed):
            verb()
    [record] = intake.fail(RunErrorCode.WORKER_LOST, "gone")
    assert record.type == "RUN_ERROR"
    assert intake.ended


def test_odd_ids_of_a_run_do_not_keep_it_from_ending() -> None:
    intake = Intake("t\ud800", "r\x00")
    started, finished = (json.loads(record.payload) for record in intake.cancel())
    assert started["threadId"] == finished["threadId"] == "t\ufffd"
    assert started["runId"] == finished["runId"] == "r\x00"


ENDINGS: dict[str, Any] = {
    "agent": lambda log: log.take({"type": "RUN_FINISHED"}),
    "agent error": lambda log: log.take({"type": "RUN_ERROR", "message": "no"}),
    "finish": lambda log: log.add(log.intake.finish()),
    "cancel": lambda log: log.add(log.intake.cancel()),
    "fail": lambda log: log.add(log.intake.fail(RunErrorCode.AGENT_ERROR, "no")),
}


@settings(max_examples=150, deadline=None)
@given(streams(), st.sampled_from(sorted(ENDINGS)))
def test_every_legal_stream_is_stored_as_a_legal_run(events: list[Any], ending: str) -> None:
    log = Log().take(*events)
    ENDINGS[ending](log)
    check(log)
    assert text_of(log.events) == text_of(events)


def text_of(events: list[dict[str, Any]]) -> str:
    """All text and arguments in the order of arrival."""
    return "".join(event["delta"] for event in events if isinstance(event.get("delta"), str))


@settings(max_examples=100, deadline=None)
@given(streams(), st.integers(0, 25), st.sampled_from(["finish", "cancel", "fail"]))
def test_a_run_can_be_ended_anywhere(events: list[Any], cut: int, ending: str) -> None:
    log = Log().take(*events[:cut])
    ENDINGS[ending](log)
    check(log)


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_whatever_an_agent_sends_what_is_stored_is_legal(events: list[Any]) -> None:
    log = Log(repair=False)
    for event in events:
        if log.intake.ended:
            break
        try:
            log.take(event)
        except RunFailed:
            continue
    if not log.intake.ended:
        log.add(log.intake.cancel())
    check(log)
