"""What a program reports besides its answer never ends a run, whatever it contains."""

import math
import threading
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import pytest
from ag_ui.core import CustomEvent, RawEvent, TextMessageContentEvent
from pydantic import BaseModel

from agui_host.protocol.errors import RunErrorCode
from agui_host.protocol.intake.fed import FedIntake
from agui_host.protocol.intake.intake import Intake
from agui_host.protocol.values import LEFT_OUT, MAX_READABLE, readable
from tests.protocol.intake.test_intake import BYE, CALL, CALLED, DELTA, HELLO, Log, check, refused
from tests.protocol.legal import Event

NOW = 1_700_000_000_000


class Opaque:
    """A framework's object: a client, a tool, a message."""


class Holder(BaseModel):
    value: Any = None


def endless() -> Iterator[int]:
    while True:
        yield 1


def holding_itself() -> Holder:
    holder = Holder()
    holder.value = holder
    return holder


def looped(breadth: int) -> list[Any]:
    loop: list[Any] = []
    loop += [loop] * breadth
    return loop


ODD: list[tuple[Any, Any]] = [
    (Opaque(), "<Opaque>"),
    (threading.Lock(), "<lock>"),
    (b"\x01\x9b", "AZs="),
    (math.nan, "NaN"),
    (-math.inf, "-Infinity"),
    (2**53, str(2**53)),
    (10**5_000, "<int>"),
    ({1: "a", "1": "b", None: 0, 2.5: 1}, {"1": "a", "1~1": "b", "null": 0, "2.5": 1}),
    ({(1, 2): "pair"}, {"<tuple>": "pair"}),
    ({Opaque}, ["<type>"]),
    (Holder(value=Opaque()), {"value": "<Opaque>"}),
    (holding_itself(), {"value": LEFT_OUT}),
    (looped(20), [LEFT_OUT] * 20),
    (endless(), "<generator>"),
    (PurePosixPath("/a/b"), "/a/b"),
]


def rules(log: Log) -> list[tuple[str, str]]:
    return [(finding.rule, finding.action) for finding in log.intake.take_findings()]


def finished(log: Log) -> list[Event]:
    log.add(log.intake.finish())
    check(log)
    return log.events


@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize(("value", "text"), ODD, ids=[type(each).__name__ for each, _ in ODD])
def test_what_is_no_json_becomes_text_or_goes(value: Any, text: Any, repair: bool) -> None:
    events: list[tuple[Any, str, Any, str]] = [
        ({**DELTA, "rawEvent": {"chunk": value}}, "rawEvent", None, "dropped"),
        ({"type": "RAW", "event": {"v": value}}, "event", {"v": text}, "coerced"),
        ({"type": "CUSTOM", "name": "n", "value": {"v": value}}, "value", {"v": text}, "coerced"),
        ({**BYE, "metadata": {"v": value}}, "metadata", {"v": text}, "coerced"),
    ]
    for event, field, stored, action in events:
        log = Log(repair=repair).take(HELLO, event)
        assert log.events[-1].get(field) == stored
        assert log.events[-1]["type"] == event["type"]
        assert rules(log) == [("json", action)]
        log = log if event["type"] == BYE["type"] else log.take(BYE)
        finished(log)


@pytest.mark.parametrize("model", [
    TextMessageContentEvent(message_id="m1", delta="x", raw_event={"o": Opaque()}),
    TextMessageContentEvent(message_id="m1", delta="x", raw_event=holding_itself()),
    RawEvent(event={"o": Opaque()}),
    CustomEvent(name="n", value=looped(2)),
])  # fmt: skip
def test_the_sdks_events_likewise(model: BaseModel) -> None:
    log = Log().take(HELLO, model, BYE)
    assert "rawEvent" not in log.events[2]
    assert [rule for rule, _ in rules(log)] == ["json"]
    finished(log)


@pytest.mark.parametrize(("value", "text"), ODD, ids=[type(each).__name__ for each, _ in ODD])
def test_under_repair_a_result_and_a_state_as_well(value: Any, text: Any) -> None:
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c1"}
    patch = [{"op": "add", "path": "/v", "value": value}]
    log = Log().take(CALL, CALLED, {**result, "content": {"v": value}})
    log.take({"type": "STATE_SNAPSHOT", "snapshot": {"v": value}})
    log.take({"type": "STATE_DELTA", "delta": patch}, {"type": "RUN_FINISHED", "result": value})
    assert readable({"v": value}) == {"v": text}
    assert log.events[-3]["snapshot"] == {"v": text}
    assert log.events[-2]["delta"][0]["value"] == text
    assert log.events[-1]["result"] == text
    assert set(rules(log)) == {("schema", "coerced")}
    check(log)
    strict = Log(repair=False)
    assert refused(strict, {"type": "STATE_SNAPSHOT", "snapshot": {"v": value}}) == (
        RunErrorCode.INVALID_EVENT
    )


def test_what_it_costs_to_read_anything_is_bounded() -> None:
    many = readable({"rows": [{"n": math.nan}] * MAX_READABLE})
    assert len(many["rows"]) < MAX_READABLE
    assert many["rows"][-1] == LEFT_OUT
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]
    readable(shared)


def test_one_that_is_too_large_goes_and_the_run_does_not() -> None:
    large = {"x": "y" * 2_000}
    log = Log(max_bytes=1_500).take(HELLO, {**DELTA, "rawEvent": large})
    log.take({"type": "RAW", "event": large})
    assert [event.get("delta") for event in log.events[2:]] == ["Hello", None]
    assert log.events[3]["event"] == LEFT_OUT
    assert rules(log) == [("size", "dropped")] * 2
    assert refused(log, {"type": "CUSTOM", "name": "n", "value": large}) == (
        RunErrorCode.EVENT_TOO_LARGE
    )


@pytest.mark.parametrize("repair", [True, False])
def test_without_raw_nothing_of_it_is_stored(repair: bool) -> None:
    raw = {"x": Opaque()}
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2", "delta": "a"}
    log = Log(repair=repair, raw=False).take(
        {**HELLO, "rawEvent": raw}, {**DELTA, "raw_event": raw}, {"type": "RAW", "event": raw},
        TextMessageContentEvent(message_id="m1", delta="x", raw_event=raw), RawEvent(event=raw),
        {**BYE, "rawEvent": 1}, {**chunk, "rawEvent": 1}, {**chunk, "delta": "b", "rawEvent": 1},
    )  # fmt: skip
    assert rules(log) == []
    events = finished(log)
    assert "".join(event.get("delta", "") for event in events) == "Helloxab"
    assert not any("rawEvent" in event or event["type"] == "RAW" for event in events)


def test_without_raw_an_unknown_event_goes_as_well() -> None:
    log = Log(raw=False).take(HELLO, {"type": "HOLOGRAM", "x": 1}, BYE)
    assert rules(log) == [("unknown_type", "dropped")]
    assert "RAW" not in [event["type"] for event in finished(log)]
    assert refused(Log(raw=False, repair=False), {"type": "HOLOGRAM"}) == (
        RunErrorCode.INVALID_EVENT
    )


LEGACY: list[tuple[Event, Event]] = [
    ({"type": "CUSTOM", "name": "beat"}, {"value": None}),
    ({"type": "RAW", "source": "x"}, {"event": None}),
    ({"type": "STATE_SNAPSHOT"}, {"snapshot": None}),
    ({"type": "STATE_SNAPSHOT", "state": {"a": 1}}, {"snapshot": {"a": 1}}),
    (
        {"type": "STATE_DELTA", "delta": {"a/b": 4, "c": None}},
        {"delta": [{"op": "add", "path": "/a~1b", "value": 4},
                   {"op": "add", "path": "/c", "value": None}]},
    ),
    (
        {"type": "STATE_DELTA", "delta": {"op": "add", "path": "/a", "value": 1}},
        {"delta": [{"op": "add", "path": "/a", "value": 1}]},
    ),
    (
        {"type": "ACTIVITY_SNAPSHOT", "activity_type": "WORK", "content": {"n": 1}},
        {"messageId": "WORK~r1", "content": {"n": 1}},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "stored"), LEGACY, ids=[str(each)[:40] for each, _ in LEGACY])
def test_older_forms_are_translated_under_repair(event: Event, stored: Event) -> None:
    log = Log().take(event, event)
    assert rules(log) == [("legacy", "translated")], "once, and not for each event"
    for each in log.events[1:]:
        assert stored.items() <= each.items()
    finished(log)
    assert refused(Log(repair=False), event) == RunErrorCode.INVALID_EVENT


def test_activities_without_an_id_are_one_by_type() -> None:
    work = {"type": "ACTIVITY_SNAPSHOT", "activityType": "WORK", "content": {"n": 1}}
    more = {"type": "ACTIVITY_DELTA", "activityType": "WORK",
            "patch": [{"op": "replace", "path": "/n", "value": 2}]}  # fmt: skip
    log = Log().take(work, {**work, "activityType": "PLAN"}, more)
    assert [event["messageId"] for event in log.events[1:]] == ["WORK~r1", "PLAN~r1", "WORK~r1"]


@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize(
    ("stamp", "stored", "action"),
    [
        (NOW + 5, NOW + 5, None),
        (NOW // 1000, NOW, "translated"),
        (NOW // 1000 + 0.25, NOW, "translated"),
        (NOW * 1000, NOW, "translated"),
        (NOW + 86_400_000, NOW + 86_400_000, None),
        (NOW - 90_000_000, None, "dropped"),
        (NOW + 90_000_000, None, "dropped"),
        (5, None, "dropped"),
        (-NOW, None, "dropped"),
    ],
)
def test_a_time_in_another_unit_or_of_another_day(
    stamp: float, stored: int | None, action: str | None, repair: bool
) -> None:
    extra = {"timestamp": stamp}
    log = Log(repair=repair).take({**HELLO, **extra}, {**DELTA, **extra}, {**DELTA, **extra})
    log.take({**BYE, **extra})
    for record, event in zip(log.records[1:], log.events[1:], strict=True):
        expected = int(record.at * 1000) if stored is None else stored
        assert abs(event["timestamp"] - expected) < 1_000
    assert rules(log) == ([] if action is None else [("timestamp", action)])
    finished(log)


def test_an_intake_that_is_brought_back_knows_which_times_it_has_told() -> None:
    intake = FedIntake("t", "r", clock=lambda: NOW / 1000)
    intake.take([{**HELLO, "timestamp": 5}])
    again = FedIntake("t", "r", clock=lambda: NOW / 1000)
    again.remember(intake.memory)
    assert [finding.rule for finding in intake.findings.new] == ["timestamp"]
    again.take([{**BYE, "messageId": "x", "timestamp": 5}])
    assert [finding.rule for finding in again.findings.new] == ["V4"]


def test_the_database_clock_decides() -> None:
    intake = Intake("t", "r", clock=lambda: 2.0)
    (_, record) = intake.accept({**HELLO, "timestamp": 5_000})
    assert b'"timestamp":5000' in record.payload
