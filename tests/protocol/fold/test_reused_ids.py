"""Ids that a later run uses again: two answers stay two, and old things can still be named."""

import json
from typing import Any

import pytest

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import prelude
from tests.dialects.folds.readers import READERS
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
        "m1~r1", "t1~r1", "m2~r1", "u1~r1", "p1~r1", "m1~r1~2",
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
    assert contents(fold)[-1] == ("m1~r1~2", "Hello")


def calls_of(fold: Fold) -> list[tuple[str, str, str]]:
    functions = [
        (call["id"], call["function"])
        for each in fold.messages
        for call in each.get("toolCalls", ())
    ]
    return [(name, function["name"], function["arguments"]) for name, function in functions]


def call(arguments: str, name: str = "ask", id_: str = "c9") -> list[Wire]:
    start = {"type": "TOOL_CALL_START", "toolCallId": id_, "toolCallName": name}
    args = {"type": "TOOL_CALL_ARGS", "toolCallId": id_, "delta": arguments}
    return [start, *([args] if arguments else []), {"type": "TOOL_CALL_END", "toolCallId": id_}]


def result(content: str, id_: str = "r9") -> Wire:
    fields = {"messageId": id_, "toolCallId": "c9", "content": content}
    return {"type": "TOOL_CALL_RESULT", **fields}


def ids(log: Log) -> list[tuple[str, str]]:
    return [(each.rule, each.action) for each in log.intake.take_findings()]


RENAMED = ("reused_id", "renamed")


@pytest.mark.parametrize("chunks", [False, True])
def test_two_calls_of_one_id_are_two(chunks: bool) -> None:
    events = [*call('{"n":"}"}'), *call('{"n":2}')]
    if chunks:
        kind = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c9", "toolCallName": "ask"}
        events = [{**kind, "delta": '{"n":"}'}, {**kind, "delta": '"}'}]
        events += [{"type": "CUSTOM", "name": "x", "value": 1}, {**kind, "delta": '{"n":2}'}]
    log, fold = played(*events, result("one"), result("two"), history=[])
    assert calls_of(fold) == [("c9", "ask", '{"n":"}"}'), ("c9~r1", "ask", '{"n":2}')]
    results = [
        (each["toolCallId"], each["content"]) for each in fold.messages if "toolCallId" in each
    ]
    assert results == [("c9", "one"), ("c9~r1", "two")]
    assert len({each["id"] for each in fold.messages}) == 4
    assert ids(log).count(RENAMED) == 2


@pytest.mark.parametrize(
    ("first", "second", "calls"),
    [
        (call("{}"), call("{}", "look"), 2),
        (call(""), call("", "look"), 2),
        (call('{"a":'), call("1}"), 1),
        (call(""), call('{"a":1}'), 1),
        ([*call(""), result("x")], call(""), 2),
        (call("{}")[:2], call("{}"), 2),
        (call("{}")[:1], call("{}"), 1),
    ],
    ids=["names", "no arguments", "rest", "none yet", "answered", "open", "START twice"],
)
def test_when_a_call_is_another_one(first: list[Wire], second: list[Wire], calls: int) -> None:
    _, fold = played(*first, *second, history=[])
    assert len(calls_of(fold)) == calls
    for _, _, arguments in calls_of(fold):
        json.loads(arguments or "{}")


def test_the_calls_of_one_id_wait_both() -> None:
    log, _ = played(*call('{"n":1}'), *call('{"n":2}'), history=[])
    assert log.events[-1]["outcome"]["pendingToolCallIds"] == ["c9", "c9~r1"]


def a_message(role: str, id_: str, **more: Any) -> Wire:
    return {"id": id_, "role": role, "content": "", **more}


def snapshot(*messages: Wire) -> Wire:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def the_call(arguments: str, id_: str = "c9") -> Wire:
    return {"id": id_, "type": "function", "function": {"name": "ask", "arguments": arguments}}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_call_in_a_snapshot_before_its_own_events(chunked: bool) -> None:
    before = snapshot(a_message("assistant", "m9", toolCalls=[the_call('{"n": 1}')]))
    events = [{**call("")[0], "parentMessageId": "m9"}, *call('{"n":')[1:2], *call("1}")[1:]]
    if chunked:
        chunk = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c9", "toolCallName": "ask"}
        events = [{**chunk, "parentMessageId": "m9", "delta": '{"n":1}'}]
    answer = {**RESULT, "toolCallId": "c9"}
    log, fold = played(before, *events, answer, history=[])
    assert calls_of(fold) == [("c9", "ask", '{"n": 1}')]
    assert "dropped" in [action for _, action in ids(log)]
    kinds = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TOOL_CALL_RESULT", "RUN_FINISHED"]
    assert [event["type"] for event in log.events] == kinds
    for name, read in READERS.items():  # The snapshot alone says the same.
        if name != "pending":
            assert read(log.events) == read(played(before, answer, history=[])[0].events), name


def test_another_call_than_the_snapshots_is_kept_whole() -> None:
    before = snapshot(a_message("assistant", "m9", toolCalls=[the_call('{"n": 1}')]))
    events = [*call('{"n":')[:2], *call("2}")[1:]]
    log, fold = played(before, *events, history=[])
    assert calls_of(fold) == [("c9", "ask", '{"n": 1}'), ("c9~r1", "ask", '{"n":2}')]
    begun = [each["toolCallId"] for each in log.events if each["type"] == "TOOL_CALL_START"]
    assert begun == ["c9~r1"]


def test_a_call_that_waits_and_is_called_again() -> None:
    waiting = [a_message("user", "u1"), a_message("assistant", "m1", toolCalls=[the_call("{}")])]
    _, fold = played(*call("{}"), history=waiting)
    assert calls_of(fold) == [("c9", "ask", "{}")]
    _, fold = played(*call('{"n":2}'), history=waiting)
    assert calls_of(fold) == [("c9", "ask", "{}"), ("c9~r1", "ask", '{"n":2}')]


def test_a_snapshot_of_calls_with_one_id() -> None:
    both = snapshot(
        a_message("user", "u1"),
        a_message("assistant", "m9", toolCalls=[the_call('{"n":1}'), the_call('{"n":2}')]),
        a_message("tool", "t1", toolCallId="c9", content="one"),
        a_message("tool", "t1", toolCallId="c9", content="two"),
    )
    for events in ([both], [*call('{"n":1}'), *call('{"n":2}'), both], [both, both]):
        _, fold = played(*json.loads(json.dumps(events)), history=[])
        answers = {m["toolCallId"]: m["content"] for m in fold.messages if m["role"] == "tool"}
        assert answers == {"c9": "one", "c9~r1": "two"}
        assert sorted(each[0] for each in calls_of(fold)) == ["c9", "c9~r1"]


ACTIVITY = {"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "PLAN",
            "content": {"n": 1}}  # fmt: skip
TEXT = [{**event, "messageId": "x"} for event in (HELLO, DELTA, BYE)]
THINKING = [
    {"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": "hm"},
    {"type": "REASONING_MESSAGE_END", "messageId": "x"},
]
USER = [{**TEXT[0], "role": "user"}, *TEXT[1:]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([ACTIVITY], TEXT), (TEXT, [ACTIVITY]), (THINKING, TEXT), (TEXT, THINKING),
        ([*call("{}"), result("42", "x")], TEXT), (TEXT, [*call("{}"), result("42", "x")]),
        (USER, TEXT), (TEXT, USER), ([ACTIVITY], [*call("{}"), result("42", "x")]),
        (TEXT, [snapshot(a_message("user", "u"), a_message("assistant", "x", content="Hello"),
                         a_message("activity", "x", activityType="P", content={}))]),
    ],
)  # fmt: skip
def test_messages_of_two_kinds_and_one_id_are_two(first: list[Wire], second: list[Wire]) -> None:
    log, fold = played(*first, *json.loads(json.dumps(second)), history=[])
    names = [each["id"] for each in fold.messages]
    assert {"x", "x~r1"} <= set(names)
    assert len(names) == len(set(names))
    assert RENAMED in ids(log)
    alone = played(*first, history=[])[1].messages + played(*second, history=[])[1].messages

    def line_of(each: Wire) -> str:
        return json.dumps([each["role"], each.get("content")])

    assert sorted(map(line_of, fold.messages)) == sorted({line_of(each) for each in alone})


def test_a_text_and_a_call_of_one_id_are_one_message_of_the_assistant() -> None:
    for events in ([*TEXT, *call("{}", id_="x")], [*call("{}", id_="x"), *TEXT]):
        _, fold = played(*events, history=[])
        (message,) = fold.messages
        assert (message["content"], len(message["toolCalls"])) == ("Hello", 1)


def test_a_text_with_the_id_of_the_users_message() -> None:
    _, fold = played(*({**event, "messageId": "u1"} for event in TEXT))
    assert (fold.messages[0]["content"], fold.messages[-1]["content"]) == ("hi", "Hello")
    _, fold = played(snapshot(a_message("user", "u2", content="q"), a_message("assistant", "u2")))
    assert [each["role"] for each in fold.messages if each["id"].startswith("u2")] == [
        "user", "assistant",
    ]  # fmt: skip


def test_empty_ids_are_no_ids() -> None:
    text = [{**event, "messageId": ""} for event in TEXT]
    events = [*call("{}", id_=""), *text, *text, *call("{}", id_="")]
    events[0] = {**events[0], "parentMessageId": ""}
    results = [{**result(word, ""), "toolCallId": ""} for word in ("one", "two")]
    log, fold = played(*events, *results, {**ACTIVITY, "messageId": ""}, history=[])
    names = [each["id"] for each in fold.messages]
    assert all(names)
    assert len(names) == len(set(names)) == 7
    assert [each["content"] for each in fold.messages if each.get("content") == "Hello"] == (
        ["Hello"] * 2
    )
    assert [name for name, _, _ in calls_of(fold)] == ["call~r1", "call~r1~2"]
    assert RENAMED in ids(log)
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "", "delta": "a"}
    _, fold = played(chunk, chunk, history=[])
    assert [each["content"] for each in fold.messages] == ["aa"]


def test_a_snapshot_that_renames_call_and_result_keeps_their_order() -> None:
    """LlamaIndex gives all messages but the user's new ids in each snapshot."""
    user = {"id": "u", "role": "user", "content": "hi"}
    snapshots = [
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [
                user,
                {"id": f"call-{n}", "role": "assistant", "toolCalls": [A_CALL]},
                {"id": f"result-{n}", "role": "tool", "toolCallId": "c1", "content": "42"},
            ],
        }
        for n in (1, 2)
    ]
    _, fold = played(*snapshots, history=[user])
    assert [message["role"] for message in fold.messages] == ["user", "assistant", "tool"]


def test_a_result_under_another_id_in_a_snapshot_keeps_its_place() -> None:
    messages = [
        a_message("user", "u1", content="hi"),
        a_message("assistant", "c9", toolCalls=[the_call("{}")]),
        a_message("tool", "other", toolCallId="c9", content="sunny"),
        a_message("assistant", "x"),
    ]
    log, fold = played(
        *call("{}"), result("sunny"), *TEXT, snapshot(*messages), history=messages[:1]
    )
    assert [each["id"] for each in fold.messages] == ["u1", "c9", "r9", "x"]
    assert ids(log) == [RENAMED]


@pytest.mark.parametrize("name", ["q", ""])
def test_questions_with_one_id_are_asked_under_two(name: str) -> None:
    questions = [{"id": name, "reason": "ask", "message": word} for word in ("circle?", "square?")]
    outcome = {"type": "interrupt", "interrupts": questions}
    log = Log().take({"type": "RUN_FINISHED", "outcome": outcome})
    check(log)
    questions = log.events[-1]["outcome"]["interrupts"]
    assert len({each["id"] for each in questions} - {""}) == 2
    assert questions[1]["metadata"] == {"agui-host": {"askedAs": name}}
    assert RENAMED in ids(log)


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
