from typing import Any

import pytest
from hypothesis import given, settings

from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.intake.gate import gate
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.violation import Violation
from tests.protocol.legal import streams

RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
DONE = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ERROR = {"type": "RUN_ERROR", "message": "no"}
S1 = {"subagentRunId": "s1"}
S2 = {"subagentRunId": "s2"}


def ev(type: str, name: str = "x", **fields: Any) -> dict[str, Any]:
    """An event with ``name`` as its own id, whatever that field is called."""
    key = "toolCallId" if type.startswith("TOOL_CALL") else "messageId"
    if type.startswith("STEP"):
        key = "stepName"
    return {"type": type, key: name, **fields}


def sub(kind: str, id_: str = "s1", **fields: Any) -> dict[str, Any]:
    needs = {"STARTED": {"name": "helper"}, "ERROR": {"message": "no"}}.get(kind, {})
    return {"type": f"SUBAGENT_{kind}", "subagentRunId": id_, **needs, **fields}


def history(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def secret(entity: str, subtype: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "entityId": entity,
        "subtype": subtype,
        "encryptedValue": "e",
        **fields,
    }


def interrupts(*ids: str, **fields: Any) -> dict[str, Any]:
    questions = [{"id": name, "reason": "ask", **fields} for name in ids]
    return {**DONE, "outcome": {"type": "interrupt", "interrupts": questions}}


BRACKETS = {
    "V4": ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
    "V5": ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
    "V6": ("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"),
    "V6 span": ("REASONING_START", "REASONING_END", "REASONING_END"),
}
OPENERS = [
    *(ev(start) for start, _, _ in BRACKETS.values()),
    ev("STEP_STARTED"),
    ev("STEP_STARTED", **S1),
    sub("STARTED"),
]
OLD = {"id": "x", "role": "assistant", "toolCalls": [{"id": "c"}], **S1}


def illegal() -> list[Any]:
    """(rule, legal beginning, the event that breaks the rule)"""
    cases: list[Any] = []

    def case(rule: str, *events: Any, started: bool = True) -> None:
        *before, last = events
        name = f"{rule}: {' '.join(event['type'] for event in events)}"
        cases.append(pytest.param(rule, [RUN, *before] if started else before, last, id=name))

    case("V1", ev("TEXT_MESSAGE_START"), started=False)
    case("V1", ev("TEXT_MESSAGE_CONTENT"), started=False)
    case("V1", DONE, started=False)
    case("V2", RUN)
    for late in (ev("TEXT_MESSAGE_START"), ev("TEXT_MESSAGE_CONTENT"), DONE, RUN, ERROR):
        case("V3", DONE, late)
        case("V3", ERROR, late)
    for rule, (start, goes_on, end) in BRACKETS.items():
        case(rule[:2], ev(start), ev(start))
        case(rule[:2], ev(goes_on))
        case(rule[:2], ev(end))
        case(rule[:2], ev(start), ev(end), ev(goes_on))
        case(rule[:2], ev(start), ev(end), ev(end))
        case("V10", ev(start), ev(goes_on, **S1))
        case("V10", ev(start, **S1), ev(goes_on, **S2))
        case("V10", ev(start, **S1), ev(end, **S2))
        case("V11" if rule == "V5" else "V10", ev(start, **S1), ev(end), ev(start, **S2))
        case("V13", ev(start), ev(goes_on, subagentRunId=None))
        case("V13", ev(start, subagentRunId=None))
    case("V7", ev("STEP_STARTED"), ev("STEP_STARTED"))
    case("V7", ev("STEP_FINISHED"))
    case("V7", ev("STEP_STARTED"), ev("STEP_FINISHED", **S1))
    case("V7", ev("STEP_STARTED", **S1), ev("STEP_FINISHED"))
    case("V7", ev("STEP_STARTED"), ev("STEP_FINISHED", subagentRunId=""))
    for opener in OPENERS:
        for outcome in ({}, {"outcome": {"type": "cancelled"}}, interrupts("i")):
            case("V8", opener, {**DONE, **outcome})
    case("V9", sub("STARTED"), sub("STARTED"))
    for ending in ("FINISHED", "ERROR"):
        case("V9", sub(ending))
        case("V9", sub("STARTED"), sub(ending), sub("STARTED"))
        case("V9", sub("STARTED"), sub(ending), sub(ending))
    case("V9", sub("STARTED", parentSubagentRunId="s0"))
    case("V9", sub("STARTED", name=None))
    case("V9", sub("STARTED", description=None))
    case("V9", sub("STARTED"), sub("ERROR", message=None))
    case("V9", sub("STARTED"), sub("ERROR", code=None))
    case("V9", sub("STARTED"), sub("FINISHED", outcome=None))
    case("V9", {"type": "SUBAGENT_STARTED", "name": "nobody"})
    case("V10", history(OLD), ev("TEXT_MESSAGE_START", **S2))
    case("V10", ev("TEXT_MESSAGE_START"), history(OLD), ev("TEXT_MESSAGE_CONTENT", **S2))
    case(
        "V10",
        history({"id": "x", "role": "reasoning", **S1}),
        ev("REASONING_MESSAGE_START", **S2),
    )
    case("V10", ev("REASONING_START", **S1), ev("REASONING_MESSAGE_START", **S2))
    case("V11", ev("TEXT_MESSAGE_START"), ev("TOOL_CALL_START", parentMessageId="x", **S1))
    case("V11", history(OLD), ev("TOOL_CALL_START", "c", **S2))
    case(
        "V11",
        ev("TOOL_CALL_START", "c", **S1),
        ev("TOOL_CALL_END", "c"),
        ev("TEXT_MESSAGE_START"),
        ev("TOOL_CALL_START", "c", parentMessageId="x"),
    )
    case("V10", ev("TOOL_CALL_RESULT", "c", messageId="x", **S1), ev("TEXT_MESSAGE_START", **S2))
    case("V12", ev("ACTIVITY_SNAPSHOT", **S1), ev("ACTIVITY_DELTA", **S2))
    case("V12", ev("ACTIVITY_SNAPSHOT"), ev("ACTIVITY_DELTA", **S2))
    case(
        "V12",
        ev("ACTIVITY_SNAPSHOT", **S1),
        ev("ACTIVITY_SNAPSHOT", replace=False, **S2),
        ev("ACTIVITY_DELTA", **S2),
    )
    case("V12", history({"id": "x", "role": "activity", **S1}), ev("ACTIVITY_DELTA", **S2))
    case("V12", ev("TOOL_CALL_START", **S1), secret("x", "tool-call", **S2))
    case("V12", ev("TEXT_MESSAGE_START", **S1), secret("x", "message", **S2))
    case("V12", ev("REASONING_MESSAGE_START", **S1), secret("x", "message", **S2))
    case("V13", history({"id": "x", "role": "user", "subagentRunId": None}))
    case("V13", interrupts("i", subagentRunId=None))
    case("V13", {"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": None})
    case("ids", {**DONE, "threadId": "other"})
    case("ids", {**DONE, "runId": "other"})
    case("interrupts", interrupts("i", "i"))
    return cases


@pytest.mark.parametrize(("rule", "before", "event"), illegal())
def test_each_rule_is_kept(rule: str, before: list[Any], event: Any) -> None:
    verifier = fed(*before)
    known = verifier.parts.starts()
    with pytest.raises(Violation) as caught:
        verifier.feed(event)
    assert caught.value.rule == rule
    assert caught.value.reason == RunErrorCode.INVALID_ORDER
    assert caught.value.message.startswith(event["type"])
    assert verifier.parts.starts() == known


def fed(*events: Any) -> Verifier:
    verifier = Verifier()
    for event in events:
        verifier.feed(event)
    return verifier


ODD = {
    "RUN_ERROR cuts everything short": [*OPENERS, ERROR],
    "a closed message is reopened": [
        ev("TEXT_MESSAGE_START"),
        ev("TEXT_MESSAGE_END"),
        ev("TEXT_MESSAGE_START"),
    ],
    "reopened without a tag it keeps its owner": [
        ev("TEXT_MESSAGE_START", **S1),
        ev("TEXT_MESSAGE_END"),
        ev("TEXT_MESSAGE_START"),
        ev("TEXT_MESSAGE_CONTENT", **S1),
    ],
    "span and message of one id, in any order": [
        ev("REASONING_START"),
        ev("REASONING_MESSAGE_START"),
        ev("REASONING_END"),
    ],
    "kinds do not share ids": [ev("TEXT_MESSAGE_START"), ev("TOOL_CALL_START", **S1)],
    "results are not checked": [
        ev("TOOL_CALL_RESULT", "unknown", messageId="m"),
        ev("TOOL_CALL_RESULT", "unknown", messageId="m"),
    ],
    "each owner has its own steps": [
        ev("STEP_STARTED"),
        ev("STEP_STARTED", **S1),
        ev("STEP_STARTED", subagentRunId=""),
    ],
    "a parent that has finished": [
        sub("STARTED"),
        sub("FINISHED"),
        sub("STARTED", "s2", parentSubagentRunId="s1"),
    ],
    "a tag needs no living subagent": [
        sub("STARTED"),
        sub("FINISHED"),
        ev("TEXT_MESSAGE_START", **S1),
    ],
    "a replacing snapshot has a new owner": [
        ev("ACTIVITY_SNAPSHOT", **S1),
        ev("ACTIVITY_SNAPSHOT", **S2),
        ev("ACTIVITY_DELTA", **S2),
    ],
    "a call inherits the owner of its message": [
        ev("TEXT_MESSAGE_START", **S1),
        ev("TOOL_CALL_START", "c", parentMessageId="x"),
        ev("TOOL_CALL_ARGS", "c", **S1),
    ],
    "two interrupts": [interrupts("i", "j")],
}


@pytest.mark.parametrize("events", ODD.values(), ids=ODD)
def test_what_looks_odd_but_is_legal(events: list[Any]) -> None:
    fed(RUN, *events)


def test_a_run_may_fail_before_it_starts() -> None:
    assert fed(ERROR).ended == "RUN_ERROR"


def test_owners_come_from_the_echoed_input_too() -> None:
    verifier = fed({**RUN, "input": {"messages": [OLD]}}, ev("TEXT_MESSAGE_START"))
    verifier.feed(ev("TEXT_MESSAGE_CONTENT", **S1))
    with pytest.raises(Violation):
        verifier.feed(ev("TEXT_MESSAGE_CONTENT", **S2))


def test_what_is_open_can_be_seen_and_reopened() -> None:
    call = ev("TOOL_CALL_START", "c", toolCallName="f", parentMessageId="x")
    verifier = fed(RUN, call, ev("TEXT_MESSAGE_START"), ev("STEP_STARTED", **S1), sub("STARTED"))
    parts = verifier.parts.starts()
    assert parts == [sub("STARTED"), ev("STEP_STARTED", **S1), ev("TEXT_MESSAGE_START"), call]
    assert fed(RUN, *parts).parts.starts() == parts


def test_the_closings_name_their_owner() -> None:
    verifier = fed(RUN, ev("TEXT_MESSAGE_START", **S1), ev("STEP_STARTED", **S1), sub("STARTED"))
    assert verifier.parts.closings({"type": "SUBAGENT_ERROR", "message": "cut"}) == [
        ev("TEXT_MESSAGE_END", **S1),
        ev("STEP_FINISHED", **S1),
        {"type": "SUBAGENT_ERROR", "message": "cut", **S1},
    ]


def test_pending_calls_come_in_call_order() -> None:
    verifier = fed(
        RUN,
        ev("TOOL_CALL_RESULT", "b", messageId="m"),
        *(ev("TOOL_CALL_START", name) for name in "cba"),
        ev("TOOL_CALL_END", "c"),
        ev("TOOL_CALL_START", "c"),
    )
    assert verifier.parts.pending_tool_calls() == ["c", "a"]


def test_a_mark_brings_back_what_was_closed_since() -> None:
    verifier = fed(RUN, *OPENERS)
    parts, mark = verifier.parts.starts(), verifier.parts.mark()
    for end in verifier.parts.closings():
        verifier.feed(end)
    assert verifier.parts.starts() == []
    verifier.parts.restore(mark)
    assert verifier.parts.starts() == parts
    for end in verifier.parts.closings():
        verifier.feed(end)
    verifier.feed(DONE)


@settings(max_examples=100, deadline=None)
@given(streams(chunks=False))
def test_every_prefix_of_a_legal_stream_can_be_closed(events: list[Any]) -> None:
    verifier = fed(RUN)
    for event in events:
        verifier.feed(event)
        if len(events) < 12:
            # A finished parent is not open, so its name must not be needed.
            parts = [{**part, "parentSubagentRunId": None} for part in verifier.parts.starts()]
            reopened = fed(RUN, *(gate(part) for part in parts))
            for end in reopened.parts.closings():
                reopened.feed(end)
            reopened.feed(DONE)
    assert verifier.parts.starts() == []
