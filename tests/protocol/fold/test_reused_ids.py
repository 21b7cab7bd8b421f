"""Ids that a later run uses again: two answers stay two, and old things can still be named."""

import json
from typing import Any

import pytest

from protocol.fold.fold import Fold
from protocol.fold.prelude import prelude
from tests.protocol.intake.test_intake import BYE, CALL, CALLED, DELTA, HELLO, Log, check

Wire = dict[str, Any]
A_CALL = {"id": "c1", "type": "function", "function": {"name": "ask", "arguments": "{}"}}
HISTORY: list[Wire] = [
    {"id": "u1", "role": "user", "content": "hi"},
    {"id": "m1", "role": "assistant", "content": "Hello", "toolCalls": [A_CALL]},
    {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "42"},
    {"id": "p1", "role": "activity", "activityType": "PLAN", "content": {"n": 1}},
]
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "t1", "toolCallId": "c1", "content": "43"}
THOUGHT = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m1", "delta": "hm"}
PLAN = {"type": "ACTIVITY_SNAPSHOT", "messageId": "p1", "activityType": "PLAN", "content": {}}


def played(*events: Wire, history: list[Wire] = HISTORY) -> tuple[Log, Fold]:
    """The log of a run with these events, and what a client holds that had the history."""
    log = Log(history=history).take(*events)
    log.add(log.intake.finish())
    check(log)
    fold = Fold(history)
    for event in log.events:
        fold.feed(event)
    return log, fold


def contents(fold: Fold) -> list[tuple[str, Any]]:
    return [(message["id"], message.get("content")) for message in fold.messages]


CHUNK = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "Hello"}


@pytest.mark.parametrize(
    "events",
    [[HELLO, DELTA, BYE], [DELTA], [CHUNK]],
    ids=["triad", "a delta alone", "chunk"],
)  # fmt: skip
def test_two_answers_of_one_id_stay_two(events: list[Wire]) -> None:
    log, fold = played(*events)
    assert contents(fold)[1] == ("m1", "Hello")
    assert contents(fold)[-1] == ("m1~r1", "Hello")
    assert ("reused_id", "renamed") in [each[1:3] for each in log.intake.take_findings()]


def test_every_kind_of_message() -> None:
    history = [*HISTORY, {"id": "m2", "role": "reasoning", "content": "so"}]
    events = [THOUGHT, RESULT, {**HELLO, "messageId": "m2"}, {**HELLO, "messageId": "u1"}]
    activity = {**PLAN, "messageId": "m1", "content": {"n": 2}}
    _, fold = played(*events, {**HELLO, "messageId": "p1"}, activity, history=history)
    assert [message for message in fold.messages if "~" not in message["id"]] == history
    assert {name for name, _ in contents(fold) if "~" in name} == {
        "m1~r1", "t1~r1", "m2~r1", "u1~r1", "p1~r1",
    }  # fmt: skip


def test_a_call_that_was_answered_is_a_new_one() -> None:
    args = {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": '{"b":1}'}
    _, fold = played({**CALL, "parentMessageId": "m1"}, args, CALLED, RESULT)
    assert fold.messages[1] == HISTORY[1]
    new = fold.messages[-2]
    assert (new["id"], new["toolCalls"][0]["id"]) == ("m1~r1", "c1~r1")
    assert new["toolCalls"][0]["function"]["arguments"] == '{"b":1}'
    assert (fold.messages[-1]["id"], fold.messages[-1]["toolCallId"]) == ("t1~r1", "c1~r1")
    waiting, _ = played({**CALL, "parentMessageId": "m1"}, CALLED)
    assert waiting.events[-1]["outcome"]["pendingToolCallIds"] == ["c1~r1"]


def test_what_waits_or_is_updated_is_still_named() -> None:
    """The result of an earlier run's call, an activity, an encrypted value, a known parent."""
    two_messages = HISTORY[:2]
    log, fold = played(
        {**RESULT, "messageId": "t9"},
        {**CALL, "parentMessageId": "m1"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m1",
         "encryptedValue": "x"},
        history=two_messages,
    )  # fmt: skip
    assert contents(fold) == [("u1", "hi"), ("m1", "Hello"), ("t9", "43")]
    assert fold.messages[1]["encryptedValue"] == "x"
    assert log.intake.take_findings() == []
    _, fold = played(PLAN)
    assert fold.messages[3]["content"] == {}


def test_a_snapshot_names_this_runs_messages_behind_the_users_last() -> None:
    messages = [*HISTORY[:2], {"id": "u2", "role": "user", "content": "and?"},
                {"id": "m1", "role": "assistant", "content": "Hello"}]  # fmt: skip
    _, fold = played(HELLO, DELTA, BYE, {"type": "MESSAGES_SNAPSHOT", "messages": messages})
    assert {name for name, _ in contents(fold)} == {"u1", "m1", "p1", "u2", "m1~r1"}


def test_a_run_that_is_tried_again() -> None:
    history = [*HISTORY, {"id": "m1~r1", "role": "assistant", "content": "once"}]
    _, fold = played(HELLO, DELTA, history=history)
    assert contents(fold)[-1] == ("m1~r1~", "Hello")


QUESTION = {"type": "CUSTOM", "name": "on_interrupt", "value": '"Sure?"'}
RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
CANCELLED = {**END, "outcome": {"type": "cancelled"}}
FAILED = {"type": "RUN_ERROR", "message": "no"}


@pytest.mark.parametrize(
    ("events", "asks"),
    [
        ([RUN, QUESTION, END], 1),
        ([RUN, {**QUESTION, "rawEvent": {"x": 1}}, END], 1),
        ([RUN, {**QUESTION, "name": "x.note"}, END], 0),
        ([RUN, QUESTION, QUESTION, END], 2),
        ([RUN, QUESTION], 1),
        ([RUN, QUESTION, FAILED], 0),
        ([RUN, QUESTION, END, RUN], 0),
        ([RUN, QUESTION, END, RUN, END], 0),
        ([RUN, QUESTION, END, RUN, QUESTION, END], 1),
        ([RUN, QUESTION, END, RUN, FAILED], 1),
        ([RUN, QUESTION, END, RUN, CANCELLED], 1),
        ([RUN, QUESTION, END, RUN, FAILED, RUN, END], 0),
        ([RUN, *[QUESTION] * 100, END], 32),
    ],
)
def test_a_question_of_an_older_adapter_is_asked_again(events: list[Wire], asks: int) -> None:
    fold = Fold()
    for event in events:
        fold.feed(event)
    for each in (fold, Fold.load(fold.dump())):
        opening = json.loads(json.dumps(prelude(each)))
        assert [event for event in opening if event["type"] == "CUSTOM"] == [QUESTION] * asks
        assert opening[-1]["type"] == events[-1]["type"] or fold.terminal is None
