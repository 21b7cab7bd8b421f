"""Owners: who each message, call, activity and reasoning belongs to."""

import pytest

from agui_host.protocol.subagent_owners import Owners
from agui_host.protocol.violation import ABSENT, Violation

MESSAGE = {"id": "m", "role": "assistant", "subagentRunId": "s1", "toolCalls": [{"id": "c"}]}
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c2", "parentMessageId": "m"}


def test_history_names_owners_of_messages_and_their_calls() -> None:
    owners = Owners()
    owners.learn([MESSAGE, {"id": "r", "role": "reasoning"}], overrides=False)
    assert (owners.messages, owners.calls, owners.reasoning) == (
        {"m": "s1"},
        {"c": "s1"},
        {"r": None},
    )


def test_only_a_snapshot_gives_a_part_to_another_owner() -> None:
    owners = Owners()
    owners.learn([MESSAGE], overrides=False)
    owners.learn([{**MESSAGE, "subagentRunId": "s2"}], overrides=False)
    assert owners.messages["m"] == "s1"
    owners.learn([{**MESSAGE, "subagentRunId": "s2"}], overrides=True)
    assert (owners.messages["m"], owners.calls["c"]) == ("s2", "s2")


def test_a_call_belongs_to_the_message_that_carries_it() -> None:
    owners = Owners()
    assert owners.of_call(CALL) is ABSENT
    owners.learn([MESSAGE], overrides=False)
    assert owners.of_call(CALL) == "s1"
    assert owners.of_call({**CALL, "subagentRunId": "s1"}) == "s1"
    with pytest.raises(Violation) as caught:
        owners.of_call({**CALL, "subagentRunId": "s2"})
    assert caught.value.rule == "V11"


def test_a_replacing_snapshot_alone_gives_an_activity_to_another_owner() -> None:
    owners = Owners()
    for fields in ({"subagentRunId": "s1"}, {"subagentRunId": "s2", "replace": False}):
        owners.activity_snapshot({"messageId": "a", **fields})
    assert owners.activities == {"a": "s1"}
    delta = {"type": "ACTIVITY_DELTA", "messageId": "a", "subagentRunId": "s2"}
    with pytest.raises(Violation):
        owners.activity_delta(delta)
    owners.activity_snapshot({"messageId": "a", "subagentRunId": "s2"})
    owners.activity_delta(delta)
