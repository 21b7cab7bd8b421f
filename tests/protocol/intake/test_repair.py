"""What an agent gets wrong: mended where the meaning is clear, refused under the other policy."""

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.findings import LIMIT
from agui_host.protocol.patch import apply
from tests.protocol.intake.test_intake import BYE, CALL, CALLED, DELTA, HELLO, Log, check, refused
from tests.protocol.legal import THOROUGH, Event, damaged, streams

ARGS = {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"}
SPAN = {"type": "REASONING_START", "messageId": "m1"}
SPANNED = {"type": "REASONING_END", "messageId": "m1"}
THOUGHT = {"type": "REASONING_MESSAGE_START", "messageId": "m1", "role": "reasoning"}
THINK = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m1", "delta": "hm"}
THOUGHT_OUT = {"type": "REASONING_MESSAGE_END", "messageId": "m1"}
STEP = {"type": "STEP_STARTED", "stepName": "plan"}
STEPPED = {"type": "STEP_FINISHED", "stepName": "plan"}
SUB = {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "helper"}
SUB_DONE = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s1"}
SUB_FAILED = {"type": "SUBAGENT_ERROR", "subagentRunId": "s1", "message": "no"}
DONE = {"type": "RUN_FINISHED"}
STATE = {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}
ACTIVITY = {
    "type": "ACTIVITY_SNAPSHOT", "messageId": "a1", "activityType": "PLAN", "content": {"n": 1}
}  # fmt: skip
S1 = {"subagentRunId": "s1"}


def patch(op: str, path: str, value: Any = 2) -> Event:
    return {"type": "STATE_DELTA", "delta": [{"op": op, "path": path, "value": value}]}


def activity(op: str, path: str, value: Any = 2, id_: str = "a1") -> Event:
    operation = {"op": op, "path": path, "value": value}
    fields = {"messageId": id_, "activityType": "PLAN", "patch": [operation]}
    return {"type": "ACTIVITY_DELTA", **fields}


CASES: dict[str, tuple[list[Event], Event, list[Event], str, str]] = {
    # name: (before, the event, what is stored for it, rule, action)
    "text without START": ([], DELTA, [HELLO, DELTA], "V4", "inserted_start"),
    "text after END": ([HELLO, BYE], DELTA, [HELLO, DELTA], "V4", "inserted_start"),
    "text of a subagent without START": (
        [], {**DELTA, **S1}, [{**HELLO, **S1}, {**DELTA, **S1}], "V4", "inserted_start",
    ),
    "arguments without START": (
        [], ARGS, [{**CALL, "toolCallName": "unknown"}, ARGS], "V5", "inserted_start",
    ),
    "arguments after END": (
        [{**CALL, "parentMessageId": "m9", "metadata": {"k": 1}}, CALLED],
        ARGS, [{**CALL, "parentMessageId": "m9"}, ARGS], "V5", "inserted_start",
    ),
    "reasoning without START": ([], THINK, [THOUGHT, THINK], "V6", "inserted_start"),
    "second START of a text": ([HELLO], HELLO, [], "V4", "dropped"),
    "second START of another owner": ([HELLO], {**HELLO, **S1}, [], "V4", "dropped"),
    "second START of a call": ([CALL], CALL, [], "V5", "dropped"),
    "second START of a thought": ([THOUGHT], THOUGHT, [], "V6", "dropped"),
    "second START of a span": ([SPAN], SPAN, [], "V6", "dropped"),
    "END of no text": ([], BYE, [], "V4", "dropped"),
    "second END of a text": ([HELLO, BYE], BYE, [], "V4", "dropped"),
    "END of no call": ([], CALLED, [], "V5", "dropped"),
    "END of no thought": ([], THOUGHT_OUT, [], "V6", "dropped"),
    "END of no span": ([], SPANNED, [], "V6", "dropped"),
    "second START of a step": ([STEP], STEP, [], "V7", "dropped"),
    "unknown step": ([], STEPPED, [], "V7", "dropped"),
    "step of another owner": ([STEP], {**STEPPED, **S1}, [], "V7", "dropped"),
    "second START of a subagent": ([SUB], SUB, [], "V9", "dropped"),
    "end of no subagent": ([], SUB_DONE, [], "V9", "dropped"),
    "second end of a subagent": ([SUB, SUB_DONE], SUB_FAILED, [], "V9", "dropped"),
    "chunk and explicit END": (
        [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "x"}],
        BYE, [BYE], "V4", "dropped",
    ),
    "state patch that does not apply": ([STATE], patch("remove", "/x"), [STATE], "patch",
                                        "restated"),
    "state patch on no state": (
        [], patch("add", "/a/b"), [{**STATE, "snapshot": {}}], "patch", "restated",
    ),
    "activity patch that does not apply": (
        [ACTIVITY], activity("remove", "/x"), [], "patch", "dropped",
    ),
    "replace of a missing member": (
        [STATE], patch("replace", "/x"), [patch("add", "/x")], "patch", "translated",
    ),
    "replace of a missing member of an activity": (
        [ACTIVITY], activity("replace", "/x"), [activity("add", "/x")], "patch", "translated",
    ),
    "replace of an element after the last": (
        [patch("add", "/list", [1])], patch("replace", "/list/1"), [patch("add", "/list/1")],
        "patch", "translated",
    ),
    "replace below a missing member": (
        [STATE], patch("replace", "/x/y"), [STATE], "patch", "restated",
    ),
    "activity patch that leaves no object": (
        [ACTIVITY], activity("replace", "", [1]), [], "patch", "dropped",
    ),
}  # fmt: skip


def bare(log: Log) -> list[Event]:
    """The log without what the host's clock added."""
    return [{k: v for k, v in event.items() if k != "timestamp"} for event in log.events]


def rows_of(log: Log) -> list[tuple[int, str, str, int]]:
    return [(seq, rule, action, n) for seq, rule, action, n in log.intake.take_findings()]


@pytest.mark.parametrize("name", CASES)
def test_repair_mends_and_says_so(name: str) -> None:
    before, event, stored, rule, action = CASES[name]
    log = Log().take(*before)
    head = len(log.records)
    log.take(event)
    head = head or 1  # the host's RUN_STARTED
    assert bare(log)[head:] == stored
    assert rows_of(log) == [(head + 1 + (name == "chunk and explicit END"), rule, action, 1)]
    log.add(log.intake.finish())
    check(log)
    assert rows_of(log) == []


@pytest.mark.parametrize("name", CASES)
def test_fail_refuses_the_same(name: str) -> None:
    before, event, _, rule, _ = CASES[name]
    log = Log(repair=False).take(*before)
    assert refused(log, event) == RunErrorCode.INVALID_ORDER
    assert [entry[1:] for entry in rows_of(log)] == [(rule, "failed", 1)]
    log.add(log.intake.fail(RunErrorCode.INVALID_ORDER, "no"))
    check(log)


OPEN = [SUB, STEP, SPAN, THOUGHT, {**HELLO, "messageId": "m2"}, CALL]


def test_what_is_open_at_the_end_is_closed_first() -> None:
    log = Log().take(*OPEN, DONE)
    assert log.types[7:] == [
        "TOOL_CALL_END",
        "TEXT_MESSAGE_END",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "STEP_FINISHED",
        "SUBAGENT_FINISHED",
        "RUN_FINISHED",
    ]
    assert rows_of(log) == [(8, "V8", "closed", 1)]
    assert log.events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["c1"]}
    check(log)
    assert refused(Log(repair=False).take(*OPEN), DONE) == RunErrorCode.INVALID_ORDER


def test_an_open_chunk_beside_other_open_parts_is_closed_once() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2", "delta": "x"}
    log = Log().take(STEP, chunk, DONE)
    assert log.types[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]
    assert [entry[1:3] for entry in rows_of(log)] == [("V8", "closed")]
    check(log)


def test_a_subagent_open_at_an_interrupt_is_suspended() -> None:
    outcome = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}
    log = Log().take(SUB, {**DONE, "outcome": outcome})
    assert log.events[-2]["outcome"] == {"type": "suspended"}


def test_an_unknown_type_is_wrapped_or_refused() -> None:
    novel = {"type": "HOLOGRAM", "x": 1}
    log = Log().take(HELLO, novel)
    assert bare(log)[2] == {"type": "RAW", "event": novel, "source": "unknown event type"}
    assert rows_of(log) == [(3, "unknown_type", "wrapped", 1)]
    strict = Log(repair=False)
    assert refused(strict, novel) == RunErrorCode.INVALID_EVENT
    assert rows_of(strict) == [(2, "schema", "failed", 1)]


@pytest.mark.parametrize(
    ("before", "event", "rule"),
    [
        ([], {"type": "RUN_STARTED"}, None),
        ([{"type": "RUN_STARTED"}], {"type": "RUN_STARTED"}, "V2"),
        ([SUB, SUB_DONE], SUB, "V9"),
        ([], {**SUB, "parentSubagentRunId": "s9"}, "V9"),
        ([HELLO], {**DELTA, **S1}, "V10"),
        ([HELLO, BYE], {**DELTA, **S1}, "V10"),
        ([HELLO], {**CALL, "parentMessageId": "m1", **S1}, "V11"),
        ([CALL, CALLED], {**ARGS, **S1}, "V10"),
        ([ACTIVITY], {**activity("add", "/x"), **S1}, "V12"),
        ([], {"type": "TOOL_CALL_CHUNK", "delta": "x"}, "chunks"),
        ([], {**DELTA, "delta": None}, "schema"),
        ([], {**DELTA, "delta": "x" * 2000}, "size"),
    ],
)  # fmt: skip
def test_what_no_repair_can_know_is_refused(before: list[Event], event: Event, rule: Any) -> None:
    log = Log(max_bytes=1000).take(*before)
    if rule is None:
        log.take(event)
        return
    refused(log, event)
    assert [entry[1:] for entry in rows_of(log)] == [(rule, "failed", 1)]
    log.add(log.intake.fail(RunErrorCode.INVALID_ORDER, "no"))
    check(log)


def test_state_is_followed_from_the_input_through_every_patch() -> None:
    body = {"threadId": "t", "runId": "r", "messages": [], "state": {"list": [1]}}
    before = copy.deepcopy(body)
    log = Log(input=before).take(patch("add", "/list/-"), patch("add", "/x", {"y": [1]}))
    log.take(patch("add", "/x/y/-"), patch("remove", "/no"))
    assert log.events[-1]["snapshot"] == {"list": [1, 2], "x": {"y": [1, 2]}}
    assert before == body
    log.take(STATE, patch("replace", "/n"), patch("remove", "/no"))
    assert log.events[-1]["snapshot"] == {"n": 2}
    assert STATE["snapshot"] == {"n": 1}


def test_a_state_that_did_not_change_is_not_restated_again() -> None:
    log = Log().take(STATE, *[patch("remove", "/no")] * 5, patch("add", "/m"))
    log.take(patch("remove", "/no"))
    assert log.types[1:] == ["STATE_SNAPSHOT"] * 2 + ["STATE_DELTA", "STATE_SNAPSHOT"]
    actions = [entry[2] for entry in rows_of(log)]
    assert actions == ["restated", *["dropped"] * 4, "restated"]


def test_a_state_too_large_to_restate_only_loses_the_patch() -> None:
    log = Log(max_bytes=1000).take(*[patch("add", f"/{n}", "x" * 500) for n in range(3)])
    log.take(patch("remove", "/no"))
    assert log.types[1:] == ["STATE_DELTA"] * 3
    assert [entry[1:3] for entry in rows_of(log)] == [("patch", "dropped")]


def test_activities_of_earlier_runs_are_not_judged() -> None:
    old = activity("replace", "/x", id_="old")
    log = Log().take(old, ACTIVITY, {**ACTIVITY, "replace": False, "content": {"z": 1}})
    log.take(activity("remove", "/z"), activity("replace", "/n"))
    message = {"id": "a1", "role": "activity", "activityType": "PLAN", "content": {"z": 1}}
    log.take({"type": "MESSAGES_SNAPSHOT", "messages": [message]})
    log.take(activity("replace", "/z"), activity("remove", "/n"), activity("remove", ""))
    assert log.types.count("ACTIVITY_DELTA") == 3
    assert [entry[1:3] for entry in rows_of(log)] == [("patch", "dropped")] * 3


def test_findings_beyond_the_limit_are_counted_with_the_end() -> None:
    log = Log().take(*[BYE] * (LIMIT + 30), *[CALLED] * 2)
    assert len(rows_of(log)) == LIMIT
    assert rows_of(log) == []
    log.add(log.intake.finish())
    assert rows_of(log) == [(2, "V4", "dropped", 30), (2, "V5", "dropped", 2)]


def test_findings_never_become_part_of_an_event() -> None:
    log = Log().take(DELTA, STEPPED, {"type": "NOVEL"}, DONE)
    assert not any("metadata" in event for event in log.events)


@st.composite
def rubbish(draw: Callable[..., Any]) -> list[Event]:
    """Legal pieces in any order, of few ids, so that they collide."""
    names = st.sampled_from(["a", "b"])
    owners: st.SearchStrategy[Event] = st.sampled_from([{}, {}, {}, S1, {"subagentRunId": "s2"}])
    pieces: list[Event] = [
        HELLO,
        DELTA,
        BYE,
        CALL,
        ARGS,
        CALLED,
        SPAN,
        SPANNED,
        THOUGHT,
        THINK,
        THOUGHT_OUT,
    ]
    pieces += [STEP, STEPPED, SUB, SUB_DONE, SUB_FAILED, STATE, ACTIVITY, DONE, {"type": "NEW"}]
    pieces += [patch("add", "/n/x"), patch("add", "/n", {}), patch("replace", "", 0)]
    pieces += [activity("add", "/n/x"), activity("add", "/n", {}), activity("remove", "")]
    pieces += [{"type": f"THINKING_{end}"} for end in ("START", "END", "TEXT_MESSAGE_END")]
    pieces += [{"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "\ud83d"}]
    pieces += [{**DELTA, "delta": "\ude00\ud83d"}, {"type": "RUN_ERROR", "message": "no"}]
    pieces += [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "x"}]
    pieces += [{"type": "TEXT_MESSAGE_CHUNK", "delta": "x\ud83d"}]
    pieces += [{"type": "TOOL_CALL_CHUNK", "toolCallId": "c1", "toolCallName": "ask"}]
    pieces += [{"type": "CUSTOM", "name": "n", "value": 1}]
    events = []
    for piece in draw(st.lists(st.sampled_from(pieces), max_size=20)):
        event: Event = {**piece}
        for key in ("messageId", "toolCallId", "subagentRunId"):
            if key in event:
                event[key] = draw(names)
        if event["type"] not in ("RUN_FINISHED", "RUN_ERROR") and "subagentRunId" not in event:
            event |= draw(owners)
        events.append(event)
    return events


def check_documents(log: Log) -> None:
    """Every stored patch applies to what a reader holds."""
    state: Any = {}
    activities: dict[str, Any] = {}
    for event in log.events:
        match event["type"]:
            case "STATE_SNAPSHOT":
                state = event["snapshot"]
            case "STATE_DELTA":
                state = apply(state, event["delta"])
            case "ACTIVITY_SNAPSHOT":
                activities[event["messageId"]] = event["content"]
            case "ACTIVITY_DELTA" if event["messageId"] in activities:
                content = apply(activities[event["messageId"]], event["patch"])
                assert isinstance(content, dict)
                activities[event["messageId"]] = content


def check_stored(events: list[Event], ending: str) -> None:
    """What is stored of these events is legal, and every patch in it applies."""
    log = Log()
    for event in events:
        if log.intake.ended:
            break
        try:
            log.take(event)
        except RunFailed as failed:
            log.add(log.intake.fail(failed.reason, failed.message))
    if ending == "fail":
        log.add(log.intake.fail(RunErrorCode.AGENT_ERROR, "no"))
    else:
        log.add(getattr(log.intake, ending)())
    check(log)
    check_documents(log)
    for seq, rule, action, times in rows_of(log):
        assert 1 <= seq <= len(log.records) + 1
        assert (rule, action, times) == (str(rule), str(action), 1)


def prove(examples: int) -> None:
    bounds = settings(THOROUGH, max_examples=examples)
    endings = st.sampled_from(["finish", "cancel", "fail"])
    bounds(given(rubbish() | damaged(), endings)(check_stored))()


def test_whatever_an_agent_sends_the_log_is_legal() -> None:
    prove(400)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_much_of_what_agents_could_send() -> None:
    prove(int(os.environ.get("REPAIR_EXAMPLES", "100000")))


@settings(max_examples=150, deadline=None)
@given(streams())
def test_a_legal_stream_has_no_findings_and_is_the_same_under_both_policies(
    events: list[Event],
) -> None:
    mended, strict = Log(), Log(repair=False)
    for log in (mended, strict):
        for event in events:
            if event["type"] in ("ACTIVITY_DELTA", "STATE_DELTA"):
                continue  # the model of legal streams does not follow documents
            log.take(event)
        log.add(log.intake.finish())
    assert mended.events == strict.events
    assert rows_of(mended) == rows_of(strict) == []
