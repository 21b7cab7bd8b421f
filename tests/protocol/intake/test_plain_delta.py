"""Plain deltas take a way of their own through intake, which must not be seen in the log."""

from typing import Any
from unittest import mock

import pytest
from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.errors import RunFailed
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.plain_delta import plain_delta

STARTS = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_START", "messageId": "used", "role": "assistant"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "k", "delta": "…"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
]
HISTORY = [{"id": "used", "role": "user", "content": "hi"}]
TEXTS = st.one_of(
    st.sampled_from(["", "plain", "grüße", "a\u2028b", "\ud83d", "\ude00", "x\ud83d", "\ude00y"]),
    st.text(st.characters(), max_size=5),
)
NAMES = st.sampled_from(["m", "c", "k", "used", "unknown", "half\ud800", 7])
KINDS = [
    ("TEXT_MESSAGE_CONTENT", "messageId"),
    ("TOOL_CALL_ARGS", "toolCallId"),
    ("REASONING_MESSAGE_CONTENT", "messageId"),
]
MORE: list[dict[str, Any]] = [
    {}, {"timestamp": 5}, {"timestamp": 1.5}, {"timestamp": None}, {"timestamp": 2**60},
    {"metadata": {}}, {"subagentRunId": "s"}, {"rawEvent": 1},
]  # fmt: skip
DELTAS = st.builds(
    lambda kind, name, text, more: {"type": kind[0], kind[1]: name, "delta": text} | more,
    st.sampled_from(KINDS),
    NAMES,
    TEXTS | st.just(None),
    st.just({}) | st.sampled_from(MORE),
)


def played(events: list[dict[str, Any]], *, small: bool) -> list[Any]:
    """The records, the refusals and the findings; those of one event have no order."""
    intake = Intake(
        "t", "r", history=HISTORY, max_bytes=190 if small else 10_000, clock=lambda: 1.7e9
    )
    log: list[Any] = []
    for event in events:
        try:
            log += intake.accept(event)
        except RunFailed as failed:
            log.append((failed.reason, failed.message))
    return [*log, sorted(intake.take_findings()), intake.tally and intake.tally.dump()]


@given(st.lists(st.sampled_from(STARTS) | DELTAS, max_size=12), st.booleans())
def test_the_log_is_that_of_the_long_way(events: list[dict[str, Any]], small: bool) -> None:
    short = played([*STARTS[:3], *events], small=small)
    with (
        mock.patch("agui_host.protocol.intake.intake.plain_delta", return_value=None),
        mock.patch("agui_host.protocol.intake.gate.plain_delta", return_value=None),
    ):
        long = played([*STARTS[:3], *events], small=small)
    assert short == long


@pytest.mark.parametrize(
    "model",
    [
        TextMessageContentEvent(message_id="p", delta="hi"),
        ReasoningMessageContentEvent(message_id="p", delta="hi"),
        ToolCallArgsEvent(tool_call_id="p", delta="hi", timestamp=5),
    ],
)
def test_an_sdk_model_is_one_too(model: Any) -> None:
    wire = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    assert plain_delta(model) == plain_delta(wire) is not None


def test_one_with_more_members_is_not() -> None:
    delta = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"}
    assert plain_delta(delta) == ("TEXT_MESSAGE_CONTENT", "messageId", "m", "hi", None)
    assert plain_delta(delta | {"metadata": {}}) is None
    assert plain_delta(delta | {"timestamp": True}) is None
    assert plain_delta(TextMessageContentEvent(message_id="m", delta="hi", raw_event={})) is None
    assert plain_delta({"type": ["TEXT_MESSAGE_CONTENT"]}) is None
