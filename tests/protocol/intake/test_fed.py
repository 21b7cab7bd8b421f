"""FedIntake: brought back from the log and its memory at any point, it is the same intake."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.errors import RunFailed
from protocol.intake import chunks
from protocol.intake.fed import EventRefused, FedIntake
from protocol.intake.intake import Intake
from tests.protocol.legal import Event, damaged, streams

HISTORY = [
    {"id": "text-1", "role": "assistant", "content": "before"},
    {"id": "text-2", "role": "assistant", "toolCalls": [{"id": "call-1"}, {"id": "call-2"}]},
    {"id": "done", "role": "tool", "toolCallId": "call-1", "content": "x"},
]
FAST = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def options(repair: bool) -> dict[str, Any]:
    return {"history": HISTORY, "repair": repair, "clock": lambda: 1.0, "input": {"state": {}}}


def payloads(intake: Intake, events: list[Event], again: Callable[[list[str]], Intake]) -> Any:
    """The log of the events, refused ones as their errors; ``again`` brings the intake back."""
    log = [record.payload.decode() for record in intake.start()]
    refused: list[str] = []
    for event in events:
        intake = again(log) or intake
        try:
            log += [record.payload.decode() for record in intake.accept(event)]
        except RunFailed as failed:
            refused.append(failed.message)
    if not intake.ended:
        log += [record.payload.decode() for record in (again(log) or intake).finish()]
    return log, refused


def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that intake makes up are the same in each try."""
    numbers = count()
    monkeypatch.setattr(chunks, "uuid4", lambda: f"id-{next(numbers)}")


@FAST
@given(events=st.one_of(streams(), damaged()), repair=st.booleans())
def test_it_continues_as_if_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch, events: list[Event], repair: bool
) -> None:
    numbered(monkeypatch)
    plain = payloads(Intake("t", "r", **options(repair)), events, lambda log: None)
    current = [FedIntake("t", "r", **options(repair))]

    def again(log: list[str]) -> FedIntake:
        intake = FedIntake("t", "r", **options(repair))
        intake.replay(log)
        intake.remember(current[-1].memory)
        current.append(intake)
        return intake

    numbered(monkeypatch)
    assert payloads(current[0], events, again) == plain


def test_a_batch_is_taken_whole_or_refused_by_the_number_of_its_event() -> None:
    intake = FedIntake("t", "r", repair=False)
    intake.start()
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    with pytest.raises(EventRefused) as refused:
        intake.take([start, start])
    assert refused.value.details == {"index": 1, "reason": "invalid_order"}


def test_a_memory_without_bound_is_refused() -> None:
    intake = FedIntake("t", "r")
    intake.start()
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "delta": "x", "metadata": {"x": "x" * 600_000}}
    with pytest.raises(EventRefused) as refused:
        intake.take([{**chunk, "messageId": str(n), "subagentRunId": str(n)} for n in range(2)])
    assert refused.value.details["reason"] == "event_too_large"
