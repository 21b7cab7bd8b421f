"""What the property test in ``tests/conformance/test_judge.py`` cannot say: the exact events."""

import json
from typing import Any

from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.prelude import finished, prelude, prelude_frames

RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
START = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
TOKEN = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hel"}
S1 = {"subagentRunId": "s1"}


def fold(*events: dict[str, Any]) -> Fold:
    whole = Fold()
    for event in events:
        whole.feed(event)
    return whole


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_in_the_middle_of_everything() -> None:
    body = {"messages": [{"id": "u", "role": "user", "content": "hi"}]}
    arguments = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a'}
    started = [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
        START,
        {"type": "REASONING_MESSAGE_START", "messageId": "s", "role": "reasoning", **S1},
        {"type": "REASONING_START", "messageId": "s", **S1},
        {"type": "SUBAGENT_STARTED", "name": "helper", **S1},
        {"type": "STEP_STARTED", "stepName": "plan"},
    ]
    events = prelude(fold(RUN | {"input": body}, *started, TOKEN, arguments))
    assert events[0] == RUN
    assert types(events[1:3]) == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    assert events[3:] == started[::-1]
    function = {"name": "f", "arguments": '{"a'}
    assert events[2]["messages"] == [
        {"id": "u", "role": "user", "content": "hi"},
        {
            "id": "m",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": function}],
            "content": "Hel",
        },
        {"id": "s", "role": "reasoning", "content": "", **S1},
    ]


def test_before_the_first_event_there_is_nothing_to_say() -> None:
    assert prelude(fold()) == []
    assert prelude_frames(fold(), 0) == b""


def test_a_reopened_start_does_not_undo_metadata() -> None:
    early, late = {"metadata": {"k": "early"}}, {"metadata": {"k": "late"}}
    events = prelude(fold(RUN, START | early, TOKEN | late))
    assert events[-1] == START
    assert events[2]["messages"][0]["metadata"] == {"k": "late"}


def test_ended_subagents_are_told_since_later_ones_may_name_them() -> None:
    parent = {"type": "SUBAGENT_STARTED", "name": "p", **S1}
    child = {"type": "SUBAGENT_STARTED", "name": "c", "subagentRunId": "s2"}
    child["parentSubagentRunId"] = "s1"
    end = {"type": "SUBAGENT_FINISHED", **S1}
    assert prelude(fold(RUN, parent, child, end))[3:] == [parent, end, child]


def test_what_a_snapshot_dropped_while_it_was_open_does_not_come_back() -> None:
    dropped = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    events = prelude(fold(RUN, START, TOKEN, dropped))
    assert events[2:] == [dropped, START, dropped]


def test_the_owner_of_an_open_message_is_said_in_the_snapshot() -> None:
    """A client learns it there, and would refuse the tagged delta that may come next."""
    span = {"type": "REASONING_START", "messageId": "x", **S1}
    thought = {"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"}
    events = prelude(fold(RUN, span, thought))
    assert events[2]["messages"] == [{"id": "x", "role": "reasoning", "content": "", **S1}]
    assert events[3:] == [span, thought | S1]


def test_a_patch_of_an_activitys_root_cannot_make_the_snapshot_unfit() -> None:
    fields = {"messageId": "a", "activityType": "PLAN"}
    patch = [{"op": "replace", "path": "", "value": [1]}]
    whole = fold(RUN, {"type": "ACTIVITY_SNAPSHOT", **fields, "content": {}})
    whole.feed({"type": "ACTIVITY_DELTA", **fields, "patch": patch})
    assert prelude(whole)[2]["messages"][0]["content"] == {}


def test_an_ended_thread_ends_with_its_own_ending() -> None:
    asks = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]}
    end = END | {"outcome": asks}
    whole = fold(RUN, START, TOKEN, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, end)
    events = finished(whole)
    assert types(events)[1:3] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    assert [events[0], *events[3:]] == [RUN, end]
    assert prelude(whole) == events


def test_interrupts_survive_a_failed_attempt_to_answer_them() -> None:
    asks = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]}
    again, error = RUN | {"runId": "r2"}, {"type": "RUN_ERROR", "message": "no"}
    raised = [RUN, END | {"outcome": asks}]
    events = finished(fold(*raised, again, error))
    assert [*events[:3], events[-1]] == [*raised, again, error]


def test_only_the_last_frame_carries_the_position() -> None:
    whole = fold(RUN, START, TOKEN)
    frames = prelude_frames(whole, 3)
    assert frames is not None
    *others, last, rest = frames.decode().split("\n\n")
    assert rest == ""
    assert all(frame.startswith("data: {") for frame in others)
    assert last.startswith("id: 3\ndata: {")
    events = [json.loads(frame[frame.index("{") :]) for frame in (*others, last)]
    assert events == prelude(whole)


def test_a_prelude_that_no_client_could_take_is_none() -> None:
    whole = fold(RUN, START, TOKEN | {"delta": "x" * (10 * 1024 * 1024)})
    assert prelude_frames(whole, 3) is None
