"""Plain deltas take a way of their own through intake, which must not be seen in the log."""

import json
from collections import deque
from typing import Any
from unittest import mock

import pytest
from ag_ui.core import ReasoningMessageContentEvent, TextMessageContentEvent, ToolCallArgsEvent
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.intake.plain_delta import STRETCH, plain_delta

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


def played(events: list[dict[str, Any]], *, small: bool, most: int = 0) -> list[Any]:
    """The records, the refusals and the findings; those of one event have no order.

    The events wait in a queue, of which up to ``most`` deltas are taken together.
    """
    max_bytes = 190 if small else 10_000
    intake = Intake("t", "r", history=HISTORY, max_bytes=max_bytes, clock=lambda: 1.7e9)
    log: list[Any] = []
    queue = deque(events)
    while queue:
        further = intake.further(queue, most) if most else []
        assert len(further) <= most
        log += further
        if further:
            continue
        try:
            log += intake.accept(queue.popleft())
        except RunFailed as failed:
            log.append((failed.reason, failed.message))
    assert intake.tally
    answered = intake.tally.answered.text
    return [*log, sorted(intake.take_findings()), intake.tally.dump(), answered]


@given(st.lists(st.sampled_from(STARTS) | DELTAS, max_size=12), st.booleans())
def test_the_log_is_that_of_the_long_way(events: list[dict[str, Any]], small: bool) -> None:
    short = played([*STARTS[:3], *events], small=small)
    with (
        mock.patch("agui_host.protocol.intake.intake.plain_delta", return_value=None),
        mock.patch("agui_host.protocol.intake.gate.plain_delta", return_value=None),
    ):
        long = played([*STARTS[:3], *events], small=small)
    assert short == long


@given(st.lists(st.sampled_from(STARTS) | DELTAS, max_size=12), st.booleans(), st.integers(1, 9))
def test_the_log_is_that_of_deltas_taken_together(
    events: list[dict[str, Any]], small: bool, most: int
) -> None:
    events = [*STARTS[:3], *events]
    assert played(events, small=small, most=most) == played(events, small=small)


def waiting(*texts: str, **more: Any) -> tuple[Intake, deque[Any]]:
    """An intake with an open message, and deltas of it."""
    intake = Intake("t", "r", **more)
    intake.accept(STARTS[0])
    return intake, deque({"type": KINDS[0][0], "messageId": "m", "delta": text} for text in texts)


def test_deltas_of_one_part_are_taken_together_until_another_event() -> None:
    intake, queue = waiting("a", "b", "c", "d")
    queue.insert(2, TextMessageContentEvent(message_id="m", delta="sdk"))
    queue.insert(4, STARTS[2])
    assert len(intake.further(queue, 2)) == 2
    texts = [json.loads(record.payload)["delta"] for record in intake.further(queue, 9)]
    assert texts == ["sdk", "c"]
    assert intake.further(queue, 9) == []
    assert queue[0] == STARTS[2]


def test_deltas_of_two_parts_are_not_mixed() -> None:
    intake, queue = waiting("a", "b")
    intake.accept({**STARTS[0], "messageId": "n"})
    queue.insert(1, {**queue[0], "messageId": "n"})
    taken = [json.loads(record.payload) for _ in range(3) for record in intake.further(queue, 9)]
    assert [(event["messageId"], event["delta"]) for event in taken] == [
        ("m", "a"), ("n", "a"), ("m", "b"),
    ]  # fmt: skip


def test_no_more_is_taken_together_than_some_kilobytes() -> None:
    intake, queue = waiting(*["x" * 1500] * 4)
    assert [len(intake.further(queue, 9)) for _ in range(2)] == [2, 2]
    intake, queue = waiting(*["x" * 20_000] * 2)
    assert [len(intake.further(queue, 9)) for _ in range(2)] == [1, 1]


def test_the_limit_of_a_runs_text_counts_for_each_of_them() -> None:
    texts, most = ["x" * 500] * 12, STRETCH + 1000
    intake, queue = waiting(*texts, max_text=most)
    while intake.further(queue, 99):
        pass
    alone, events = waiting(*texts, max_text=most)
    while len(events) > len(queue):
        alone.accept(events.popleft())
    assert len(queue) == 1
    with pytest.raises(RunFailed, match="more than 5,096"):
        alone.accept(events[0])


def test_after_the_end_none_is_taken() -> None:
    intake, queue = waiting("late")
    intake.fail(RunErrorCode.TIMEOUT, "slow")
    assert intake.further(queue, 9) == []


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
