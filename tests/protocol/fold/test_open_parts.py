"""OpenParts: the same for the verifier, which closes them, and the fold, which opens them again."""

import json
from typing import Any

from agui_host.protocol.fold.open_parts import OpenParts

Event = dict[str, Any]

SUBAGENT = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"}
STEP = {"type": "STEP_STARTED", "stepName": "look", "subagentRunId": "s"}
SPAN = {"type": "REASONING_START", "messageId": "r"}
TEXT = {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}
CALL = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}


def everything() -> OpenParts:
    parts = OpenParts()
    for start in (CALL, TEXT, SPAN):
        parts.start({**start, "metadata": {"large": True}, "rawEvent": {}})
    parts.step_started(STEP)
    parts.subagent(SUBAGENT)
    return parts


def test_outer_ones_come_first_without_what_a_snapshot_has() -> None:
    assert everything().starts() == [SUBAGENT, STEP, SPAN, TEXT, CALL]


def test_the_closings_go_from_inside_out_and_name_the_owner() -> None:
    of_subagent = {"subagentRunId": "s"}
    assert everything().closings() == [
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m", **of_subagent},
        {"type": "REASONING_END", "messageId": "r"},
        {"type": "STEP_FINISHED", "stepName": "look", **of_subagent},
        {"type": "SUBAGENT_FINISHED", **of_subagent},
    ]


def test_a_call_inherits_the_owner_of_its_message() -> None:
    parts = OpenParts()
    parts.start(TEXT)
    parts.start(CALL)
    assert parts.owner("TOOL_CALL_START", "c") == "s"


def test_an_ended_subagent_is_known_and_not_active() -> None:
    parts = everything()
    assert parts.is_active("s")
    parts.subagent({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": 1})
    assert not parts.is_active("s")
    assert [event["type"] for event in parts.subagents["s"]] == [
        "SUBAGENT_STARTED", "SUBAGENT_FINISHED",
    ]  # fmt: skip
    assert SUBAGENT not in parts.starts()


def test_a_dump_brings_all_of_it_back() -> None:
    parts = everything()
    parts.end({"type": "TOOL_CALL_END", "toolCallId": "c"})
    loaded = OpenParts.load(json.loads(json.dumps(parts.dump())))
    assert loaded.starts() == parts.starts()
    assert loaded.closings() == parts.closings()
    assert loaded.pending_tool_calls() == parts.pending_tool_calls() == ["c"]
    loaded.result({"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "t"})
    assert loaded.pending_tool_calls() == []
