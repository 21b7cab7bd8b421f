from typing import Any

import pytest

from agui_host.protocol.fold.fold import Fold

RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def fold(*events: dict[str, Any], **start: Any) -> Fold:
    whole = Fold(**start)
    for event in (RUN, *events):
        whole.feed(event)
    return whole


def text(*deltas: str, id: str = "m", **fields: Any) -> list[dict[str, Any]]:
    start = {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant", **fields}
    return [
        start,
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": id},
    ]


def call(id: str = "c", parent: str | None = None, args: str = "{}") -> list[dict[str, Any]]:
    start = {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "search"}
    if parent is not None:
        start["parentMessageId"] = parent
    return [
        start,
        {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": args},
        {"type": "TOOL_CALL_END", "toolCallId": id},
    ]


def result(call: str, id: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_RESULT", "toolCallId": call, "messageId": id, "content": "ok"}


def ids(whole: Fold) -> list[str]:
    return [message["id"] for message in whole.messages]


def test_text_is_joined_and_a_reopened_message_goes_on() -> None:
    whole = fold(*text("Hel", "lo"), *text(" again"))
    assert whole.messages == [{"id": "m", "role": "assistant", "content": "Hello again"}]


def test_a_call_joins_its_parent_or_gets_a_message_of_its_own() -> None:
    whole = fold(*text("hi"), *call("c1", "m"), *call("c2"), *call("c3", "new"))
    assert ids(whole) == ["m", "c2", "new"]
    assert whole.messages[0]["toolCalls"] == [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    ]


def test_results_stand_behind_their_call_in_the_order_they_came() -> None:
    whole = fold(*call("c1"), *call("c2", "c1"), *text("later"))
    for event in (result("c2", "r2"), result("c1", "r1"), result("unknown", "r3")):
        whole.feed(event)
    assert ids(whole) == ["c1", "r2", "r1", "m", "r3"]


def test_metadata_merges_per_key_into_what_the_event_builds() -> None:
    message, tool_call = text("hi", metadata={"a": 1, "b": [1]}), call(parent="m")
    message[-1]["metadata"] = {"b": [2]}
    tool_call[1]["metadata"] = {"c": 3}
    whole = fold(*message, *tool_call)
    assert whole.messages[0]["metadata"] == {"a": 1, "b": [2]}
    assert whole.messages[0]["toolCalls"][0]["metadata"] == {"c": 3}


def test_a_snapshot_replaces_in_place_appends_and_drops() -> None:
    whole = fold(*text("one", id="1"), *text("two", id="2"), *text("three", id="3"))
    fresh = [{"id": "new", "role": "user", "content": "?"}, {"id": "3", "role": "user"}]
    whole.feed({"type": "MESSAGES_SNAPSHOT", "messages": [*fresh, whole.messages[0]]})
    assert ids(whole) == ["1", "3", "new"]
    assert whole.messages[1] == {"id": "3", "role": "user"}


@pytest.mark.parametrize(
    ("metadata", "carried", "remaining"),
    [
        (None, [], ["plan", "search", "thought"]),
        (None, ["activity"], ["thought"]),
        (None, ["reasoning"], ["plan", "search"]),
        ({"authoritativeActivityTypes": None}, [], ["thought"]),
        ({"authoritativeActivityTypes": ["PLAN"]}, ["activity"], ["search", "thought"]),
        ({"authoritativeActivityTypes": "PLAN"}, ["activity"], ["plan", "search", "thought"]),
        ("nonsense", ["activity"], ["plan", "search", "thought"]),
        ({}, [], ["plan", "search", "thought"]),
    ],
)
def test_activities_and_reasoning_that_a_snapshot_may_leave_out(
    metadata: Any, carried: list[str], remaining: list[str]
) -> None:
    activity = {"type": "ACTIVITY_SNAPSHOT", "content": {}}
    whole = fold(
        activity | {"messageId": "plan", "activityType": "PLAN"},
        activity | {"messageId": "search", "activityType": "SEARCH"},
        {"type": "REASONING_MESSAGE_START", "messageId": "thought", "role": "reasoning"},
    )
    messages = [
        {"id": f"new {role}", "role": role, "content": {}, "activityType": "PLAN"}
        for role in carried
    ]
    event = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    if metadata is not None:
        event["metadata"] = {"@ag-ui/client": metadata}
    whole.feed(event)
    assert [name for name in ids(whole) if not name.startswith("new")] == remaining


def test_an_activity_is_replaced_kept_or_patched() -> None:
    fields = {"messageId": "a", "activityType": "PLAN"}
    whole = fold({"type": "ACTIVITY_SNAPSHOT", **fields, "content": {"n": 1}, "metadata": {"k": 1}})
    whole.feed({"type": "ACTIVITY_SNAPSHOT", **fields, "content": {"n": 2}, "replace": False})
    assert whole.messages[0]["content"] == {"n": 1}
    before = whole.messages
    patch = [{"op": "replace", "path": "/n", "value": 3}]
    whole.feed({"type": "ACTIVITY_DELTA", **fields, "activityType": "DONE", "patch": patch})
    failing = [{"op": "remove", "path": "/missing"}]
    whole.feed({"type": "ACTIVITY_DELTA", **fields, "patch": failing, "metadata": {"k": 2}})
    assert whole.messages[0] == {
        "id": "a", "role": "activity", "activityType": "DONE", "content": {"n": 3},
        "metadata": {"k": 2},
    }  # fmt: skip
    assert before[0]["content"] == {"n": 1}


def test_a_failing_patch_leaves_the_state_and_what_was_given_out_never_changes() -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"n": [1]}}
    whole = fold(snapshot)
    state = whole.state
    whole.feed({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/n/-", "value": 2}]})
    whole.feed({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/missing"}]})
    assert whole.state == {"n": [1, 2]}
    assert state == snapshot["snapshot"] == {"n": [1]}


def test_the_state_of_the_input_is_the_base_until_something_else_is_said() -> None:
    body = {"threadId": "t", "runId": "r", "messages": [], "state": {"a": 1}}
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}]}
    for known_state, expected in (({}, {"a": 1, "b": 2}), ({"state": {"c": 0}}, {"c": 0, "b": 2})):
        whole = Fold(**known_state)
        for event in (RUN | {"input": body}, delta):
            whole.feed(event)
        assert whole.state == expected


def test_an_encrypted_value_is_kept_on_what_it_names() -> None:
    secret = {"type": "REASONING_ENCRYPTED_VALUE", "encryptedValue": "sealed"}
    whole = fold(
        *text("hi"),
        *call("c", "m"),
        secret | {"subtype": "message", "entityId": "m"},
        secret | {"subtype": "tool-call", "entityId": "c"},
        secret | {"subtype": "message", "entityId": "unknown"},
    )
    (message,) = whole.messages
    assert message["encryptedValue"] == "sealed"
    assert message["toolCalls"][0]["encryptedValue"] == "sealed"


def test_the_type_of_an_encrypted_value_is_that_of_the_newest() -> None:
    secret = {"type": "REASONING_ENCRYPTED_VALUE", "encryptedValue": "x", "entityId": "m"}
    secret |= {"subtype": "message"}
    for events, kind in (
        ([secret | {"encryptedValueType": "google"}], "google"),
        ([secret | {"encryptedValueType": "google"}, secret], None),
    ):
        (message,) = fold(*text("hi"), *events).messages
        assert message.get("encryptedValueType") == kind


def test_a_later_run_keeps_messages_and_state_and_forgets_the_rest() -> None:
    asks = [{"id": "i", "reason": "confirmation"}]
    usage = [{"model": "m", "inputTokens": 1}]
    whole = fold(
        *text("hi"),
        *call("c"),
        {"type": "STATE_SNAPSHOT", "snapshot": 1},
        END | {"outcome": {"type": "interrupt", "interrupts": asks}, "usage": usage},
    )
    assert (whole.interrupts, whole.usage, whole.pending_tool_calls) == (asks, usage, ["c"])
    known = {"id": "m", "role": "user", "content": "not this one"}
    body = {"messages": [known, {"id": "u", "role": "user", "content": "yes"}]}
    whole.feed(RUN | {"runId": "r2", "input": body})
    assert whole.terminal is None
    assert whole.started == RUN | {"runId": "r2"}
    assert whole.pending_tool_calls == []
    assert [message["content"] for message in whole.messages if "content" in message] == [
        "hi",
        "yes",
    ]
    whole.feed({"type": "RUN_ERROR", "message": "no"})
    assert whole.interrupts == asks
    for event in (RUN | {"runId": "r3"}, END | {"runId": "r3"}):
        whole.feed(event)
    assert whole.interrupts == []


def test_a_dumped_fold_goes_on_where_it_was() -> None:
    start = {"messages": [{"id": "u", "role": "user", "content": "a\nb\u2028"}], "state": {"s": 1}}
    whole = fold(*text("Hel")[:2], *call("c", "m")[:2], **start)
    loaded = Fold.load(whole.dump())
    for part in (whole, loaded):
        part.feed({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"})
        part.feed({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"})
    assert loaded.messages == whole.messages
    assert loaded.messages[1]["content"] == "Hello"
    assert loaded.parts.open == whole.parts.open


def test_a_dump_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format"):
        Fold.load(Fold().dump().replace('"format":1', '"format":0'))


def test_a_cancelled_run_answers_no_question() -> None:
    question = {"type": "CUSTOM", "name": "on_interrupt", "value": "Shall I?"}
    whole = fold(question, END, RUN, END | {"outcome": {"type": "cancelled"}})
    assert whole.questions == [question]
    for event in (RUN, END):
        whole.feed(event)
    assert whole.questions == []
