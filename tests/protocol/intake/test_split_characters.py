"""A character that an agent cuts in two arrives whole."""

from typing import Any

import pytest

from agui_host.protocol.encoding import clean_delta
from tests.protocol.intake.test_intake import BYE, CALL, HELLO, Log, check

HIGH, LOW, SMILE = "\ud83d", "\ude00", "\U0001f600"
THOUGHT = {"type": "REASONING_MESSAGE_START", "messageId": "m1"}


def text(delta: str, id_: str = "m1", **more: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": id_, "delta": delta, **more}


def deltas(*events: Any) -> list[str]:
    log = Log().take(HELLO, *events)
    log.add(log.intake.finish())
    check(log)
    return [event["delta"] for event in log.events if "delta" in event]


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([text("a" + HIGH), text(LOW + "b")], ["a", SMILE + "b"]),
        ([text(HIGH), text(LOW)], [SMILE]),
        ([text("a" + HIGH), text("b")], ["a", "\ufffdb"]),
        ([text("a" + HIGH), text("")], ["a", "\ufffd"]),
        ([text("a" + HIGH), text(LOW + HIGH), text(LOW)], ["a", SMILE, SMILE]),
        ([text(HIGH + HIGH), text(LOW)], ["\ufffd", SMILE]),
        ([text("a" + HIGH), BYE], ["a", "\ufffd"]),
        ([text("a" + HIGH)], ["a", "\ufffd"]),
        ([text(LOW), BYE], ["\ufffd"]),
        ([text("a" + HIGH, metadata={"k": 1}), text(LOW)], ["a", SMILE]),
        ([text(HIGH, metadata={"k": 1}), text(LOW)], ["", SMILE]),
        ([text(f"grüße {SMILE}"), text("ß")], [f"grüße {SMILE}", "ß"]),
    ],
)
def test_the_first_half_waits_for_the_second(events: list[Any], texts: list[str]) -> None:
    assert deltas(*events) == texts


def test_halves_of_different_items_do_not_meet() -> None:
    other = {**HELLO, "messageId": "m2"}
    call = {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": HIGH}
    thought = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m1", "delta": HIGH}
    first = [other, CALL, THOUGHT, text(HIGH), text("x" + HIGH, "m2"), call, thought]
    second = [text("y"), text(LOW, "m2"), {**call, "delta": LOW}, {**thought, "delta": "z"}]
    assert deltas(*first, *second) == ["x", "\ufffdy", SMILE, SMILE, "\ufffdz"]


def test_chunks_are_joined_too() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2", "delta": "a" + HIGH}
    more = {"type": "TEXT_MESSAGE_CHUNK", "delta": LOW}
    assert deltas(chunk, more) == ["a", SMILE]
    assert deltas({**chunk, "delta": HIGH}, more) == [SMILE]
    assert deltas(chunk, {"type": "CUSTOM", "name": "n", "value": 1}) == ["a", "\ufffd"]


def test_a_waiting_half_does_not_slow_the_others_into_silence() -> None:
    log = Log().take(HELLO, {**HELLO, "messageId": "m2"}, text(HIGH))
    log.take(*[text("x", "m2")] * 3)
    assert [event["delta"] for event in log.events[3:]] == ["x"] * 3


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("ß", "ß"),
        (HIGH, HIGH),
        (LOW, LOW),
        (LOW + "a" + HIGH, LOW + "a" + HIGH),
        ("a" + HIGH + "b", "a\ufffdb"),
        (HIGH + LOW, HIGH + LOW),
        ("a" + HIGH + LOW + "b", "a" + SMILE + "b"),
    ],
)
def test_only_the_edges_keep_halves(text: str, cleaned: str) -> None:
    assert clean_delta(text) == (cleaned if text != HIGH + LOW else SMILE)
