"""FedIntake: brought back from the log and its memory at any point, it is the same intake."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.errors import RunFailed
from agui_host.protocol.intake import chunks
from agui_host.protocol.intake.fed import EventRefused, FedIntake
from agui_host.protocol.intake.intake import Intake
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


def accepted(intake: FedIntake, batches: list[list[Event]]) -> list[list[str] | dict[str, Any]]:
    """The records of each batch, or the details of its refusal."""
    outcomes: list[list[str] | dict[str, Any]] = []
    for batch in batches:
        try:
            outcomes.append([record.payload.decode() for record in intake.take(batch)])
        except EventRefused as refused:
            outcomes.append(refused.details)
    return outcomes


BROKEN = {"type": "TEXT_MESSAGE_START"}


@FAST
@given(events=st.one_of(streams(), damaged()), repair=st.booleans(), data=st.data())
def test_a_refused_batch_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, events: list[Event], repair: bool, data: st.DataObject
) -> None:
    """Whatever it did before its broken event: what follows is as without it."""
    batches = [[event] for event in events]
    size = data.draw(st.integers(1, 5))
    tried = [events[at : at + size] for at in range(len(events))]
    outcomes = []
    for broken in (False, True):
        intake = FedIntake("t", "r", **options(repair))
        intake.start()
        outcomes.append([])
        for batch, trial in zip(batches, tried, strict=True):
            numbered(monkeypatch)
            if broken:
                assert isinstance(accepted(intake, [deep_copy([*trial, BROKEN])])[0], dict)
            numbered(monkeypatch)
            outcomes[-1] += accepted(intake, deep_copy([batch]))
            outcomes[-1] += [
                intake.memory,
                intake.replicas.state,
                dict(intake.replicas._activities),
                [list(table) for table in intake._verifier.tables()],
                intake.findings.new,
                intake.head,
                intake.ended,
            ]
            outcomes[-1] = json.loads(json.dumps(outcomes[-1], default=str))
    assert outcomes[0] == outcomes[1]


def op(kind: str, path: str, **more: Any) -> Event:
    return {"op": kind, "path": path, **more}


@pytest.mark.parametrize(
    "patch",
    [
        [op("add", "/list/0", value={"x": 1}), op("remove", "/a")],
        [op("move", "/a/moved", **{"from": "/list/1"}), op("remove", "/list/0")],
        [op("copy", "/a/b/c", **{"from": "/a"}), op("replace", "/a/b", value=0)],
        [op("replace", "", value={"list": [0]}), op("remove", "/list/0")],
        [op("remove", "/list/0"), op("remove", "/no")],
    ],
)
@pytest.mark.parametrize("brought", [False, True])
def test_patches_of_a_refused_batch_are_undone(patch: list[Event], brought: bool) -> None:
    value = {"a": {"b": {"c": [1, 2]}}, "list": [1, {"two": 2}, 3]}
    intake = FedIntake("t", "r", input={"state": deep_copy(value) if brought else {}})
    intake.start()
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": deep_copy(value)}
    activity = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x"}
    intake.take([*([] if brought else [snapshot]), activity | {"content": deep_copy(value)}])
    changes = [
        {"type": "STATE_DELTA", "delta": patch},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x", "patch": patch},
    ]
    for more in ([snapshot, *changes], [activity | {"content": {"list": [5, 6], "a": {}}}], []):
        with pytest.raises(EventRefused):
            intake.take(deep_copy([*changes, *more, *changes, BROKEN]))
        assert intake.replicas.state == value
        assert intake.replicas._activities == {"a": value}
    assert intake.take(deep_copy(changes))


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


@pytest.mark.parametrize("state", [None, {"a": 1}], ids=str)
def test_an_unchanged_state_is_restated_once(state: Any) -> None:
    failing = {"type": "STATE_DELTA", "delta": [op("remove", "/no")]}
    first = FedIntake("t", "r")
    log = first.start() + first.take([{"type": "STATE_SNAPSHOT", "snapshot": state}, failing])
    assert [record.type for record in log[1:]] == ["STATE_SNAPSHOT"] * 2
    second = FedIntake("t", "r")
    second.replay(record.payload.decode() for record in log)
    second.remember(first.memory)
    assert second.take([failing]) == first.take([failing]) == []


def test_questions_that_are_too_large_fail_the_run() -> None:
    intake = FedIntake("t", "r", max_bytes=10_000, rules=("on_interrupt",))
    intake.start()
    ask = {"type": "CUSTOM", "name": "on_interrupt", "value": "x" * 4_000}
    *customs, failure = intake.take([ask] * 3, ends=True)
    assert [record.type for record in customs] == ["CUSTOM"] * 3
    assert json.loads(failure.payload)["code"] == "event_too_large"
    assert intake.ended
