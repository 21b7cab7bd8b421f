"""A conversation, event by event. The stock client judges whole logs in tests/conformance."""

from typing import Any

import pytest

from agui_host.protocol.fold.messages import AUTHORITY, Messages

USER = {"id": "u", "role": "user", "content": "hi"}
THOUGHT = {"id": "r", "role": "reasoning", "content": "hm"}
CHART = {"id": "a", "role": "activity", "activityType": "chart", "content": {"n": 1}}
PLAN = {"id": "p", "role": "activity", "activityType": "plan", "content": {}}


def ids(messages: Messages) -> list[str]:
    return [message["id"] for message in messages.wire()]


def call(messages: Messages, call_id: str, **more: Any) -> None:
    messages.call_start({"toolCallId": call_id, "toolCallName": "look", **more})


def test_a_text_grows_and_a_second_start_goes_on_with_it() -> None:
    messages = Messages()
    messages.text_start({"messageId": "m"})
    messages.text({"messageId": "m", "delta": "a"})
    messages.text_start({"messageId": "m", "role": "user"})
    messages.text({"messageId": "m", "delta": "b", "metadata": {"k": 1}})
    messages.text({"messageId": "unknown", "delta": "lost"})
    messages.text_end({"messageId": "m", "metadata": {"k": 2}})
    assert messages.wire() == [
        {"id": "m", "role": "assistant", "content": "ab", "metadata": {"k": 2}}
    ]


@pytest.mark.parametrize(
    ("parent", "carrier"),
    [("m", "m"), ("new", "new"), ("u", "c"), (None, "c")],
    ids=["an assistant's", "one not there yet", "a user's", "none"],
)
def test_a_call_finds_the_message_that_carries_it(parent: str | None, carrier: str) -> None:
    messages = Messages([USER, {"id": "m", "role": "assistant", "content": ""}])
    call(messages, "c", parentMessageId=parent)
    carriers = [message["id"] for message in messages.wire() if message.get("toolCalls")]
    assert carriers == [carrier]


def test_a_call_collects_its_arguments_and_takes_a_new_name() -> None:
    messages = Messages()
    call(messages, "c")
    messages.call_args({"toolCallId": "c", "delta": '{"a":'})
    messages.call_start({"toolCallId": "c", "toolCallName": "find"})
    messages.call_args({"toolCallId": "c", "delta": "1}"})
    known = messages.call("c")
    assert known is not None
    assert known.wire()["function"] == {"name": "find", "arguments": '{"a":1}'}
    assert messages.call("other") is None


def test_a_result_stands_behind_its_call_and_earlier_results() -> None:
    messages = Messages()
    call(messages, "c", parentMessageId="m")
    call(messages, "d", parentMessageId="m")
    messages.text_start({"messageId": "later"})
    for number, name in enumerate(["c", "d"]):
        messages.result({"messageId": f"t{number}", "toolCallId": name, "content": "ok"})
    messages.result({"messageId": "lone", "toolCallId": "unknown", "content": "ok"})
    assert ids(messages) == ["m", "t0", "t1", "later", "lone"]


def test_an_activity_is_replaced_or_left_and_a_bad_patch_changes_nothing() -> None:
    messages = Messages([CHART])
    wire = messages.wire()[0]
    snapshot = {"messageId": "a", "activityType": "chart", "content": {"n": 2}}
    messages.activity({**snapshot, "replace": False})
    assert messages.wire()[0]["content"] == {"n": 1}
    messages.activity(snapshot)
    good = [{"op": "replace", "path": "/n", "value": 3}]
    bad = [{"op": "replace", "path": "/n", "value": 4}, {"op": "remove", "path": "/none"}]
    for patch in (good, bad):
        messages.activity_delta({"messageId": "a", "activityType": "chart", "patch": patch})
    assert messages.wire()[0]["content"] == {"n": 3}
    assert wire["content"] == {"n": 1}, "what a reader has does not change behind its back"


@pytest.mark.parametrize(
    ("metadata", "stay"),
    [
        ({}, ["r", "a", "p"]),
        ({AUTHORITY: {"authoritativeActivityTypes": None}}, ["r"]),
        ({AUTHORITY: {"authoritativeActivityTypes": ["chart"]}}, ["r", "p"]),
        ({AUTHORITY: {"authoritativeActivityTypes": "chart"}}, ["r", "a", "p"]),
        ({AUTHORITY: "?"}, ["r", "a", "p"]),
    ],
)
def test_a_snapshot_drops_what_it_does_not_name(metadata: dict[str, Any], stay: list[str]) -> None:
    messages = Messages([USER, THOUGHT, CHART, PLAN])
    fresh = {"id": "n", "role": "assistant", "content": "new"}
    messages.snapshot({"messages": [fresh], "metadata": metadata})
    assert ids(messages) == [*stay, "n"]


def test_a_snapshot_with_activities_and_thoughts_names_all_of_them() -> None:
    messages = Messages([USER, THOUGHT, CHART, PLAN])
    other = {**THOUGHT, "id": "r2"}
    messages.snapshot({"messages": [other, PLAN, {**USER, "content": "changed"}]})
    assert ids(messages) == ["u", "p", "r2"], "known messages stay where they are"
    assert messages.wire()[0]["content"] == "changed"


def test_an_encrypted_value_goes_to_the_call_or_message_that_it_names() -> None:
    messages = Messages([USER, CHART])
    call(messages, "c")
    for subtype, entity in (("tool-call", "c"), ("message", "u"), ("message", "a")):
        event = {"subtype": subtype, "entityId": entity, "encryptedValue": "x"}
        messages.encrypted(event)
    known = messages.call("c")
    assert known is not None
    assert known.wire()["encryptedValue"] == "x"
    assert [message.get("encryptedValue") for message in messages.wire()] == ["x", None, None]


def test_the_messages_of_an_input_come_once() -> None:
    messages = Messages([USER])
    messages.add_unknown([{**USER, "content": "again"}, {**USER, "id": "v"}])
    assert ids(messages) == ["u", "v"]
    assert messages.wire()[0]["content"] == "hi"
    assert messages.holds("v")
    assert not messages.holds("w")
