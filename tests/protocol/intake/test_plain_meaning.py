"""What an agent plainly means is taken so under ``repair``, refused under ``fail``, never lost."""

from typing import Any

import pytest
from pydantic import BaseModel

from agui_host.protocol.errors import RunErrorCode
from tests.protocol.intake.test_intake import BYE, CALL, CALLED, DELTA, HELLO, Log, check, refused
from tests.protocol.legal import Event


class Weather(BaseModel):
    city: str
    degrees: float


RESULT: Event = {"type": "TOOL_CALL_RESULT", "messageId": "r1", "toolCallId": "c1", "content": ""}
PART = {"type": "text", "text": "sunny"}
CUSTOM: Event = {"type": "CUSTOM", "name": "x.note", "value": 1}
CHUNK: Event = {"type": "TEXT_MESSAGE_CHUNK", "delta": "Hello"}
THOUGHT: Event = {"type": "REASONING_MESSAGE_CHUNK", "delta": "hm"}
ARGS: Event = {"type": "TOOL_CALL_CHUNK", "delta": "{"}


def bare(log: Log) -> list[Event]:
    return [{k: v for k, v in event.items() if k != "timestamp"} for event in log.events[1:]]


def rules(log: Log) -> set[tuple[str, str]]:
    return {(finding.rule, finding.action) for finding in log.intake.take_findings()}


def ended(log: Log) -> Log:
    log.add(log.intake.finish())
    check(log)
    return log


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ({"city": "Bern", "degrees": 5}, '{"city":"Bern","degrees":5}'),
        (Weather(city="Bern", degrees=0.5), '{"city":"Bern","degrees":0.5}'),
        ([{"id": 1}, {"id": 2}], '[{"id":1},{"id":2}]'),
        ([1, "two"], '[1,"two"]'),
        ([], []),
        (42, "42"),
        (True, "true"),
        (None, "null"),
        (PART, [PART]),
        ([PART], [PART]),
        ([{"type": "hologram"}], []),
    ],
)
def test_a_tools_result_may_be_data(content: Any, stored: Any) -> None:
    log = Log().take(CALL, CALLED, {**RESULT, "content": content})
    assert log.events[-1]["content"] == stored
    assert rules(ended(log)) <= {("schema", "coerced")}
    if not isinstance(content, list):
        strict = Log(repair=False).take(CALL, CALLED)
        assert refused(strict, {**RESULT, "content": content}) == RunErrorCode.INVALID_EVENT


def test_numbers_are_ids() -> None:
    log = Log().take(
        {**HELLO, "messageId": 5}, {**DELTA, "messageId": 5}, {**BYE, "messageId": 5.0},
        {**CALL, "toolCallId": 7, "parentMessageId": 5}, {**CALLED, "toolCallId": 7},
    )  # fmt: skip
    assert [event.get("messageId") or event["toolCallId"] for event in bare(log)] == [
        "5", "5", "5", "7", "7",
    ]  # fmt: skip
    assert log.events[4]["parentMessageId"] == "5"
    assert rules(ended(log)) == {("schema", "coerced")}
    assert refused(Log(repair=False), {**HELLO, "messageId": 5}) == RunErrorCode.INVALID_EVENT


def test_arguments_may_be_the_object_that_they_describe() -> None:
    log = Log().take(CALL, {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": {"a": [1]}})
    assert log.events[-1]["delta"] == '{"a":[1]}'
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
    message = {"id": 1, "role": "assistant", "content": [PART, PART], "toolCalls": [call]}
    log.take({"type": "MESSAGES_SNAPSHOT", "messages": [message]})
    (stored,) = log.events[-1]["messages"]
    assert (stored["id"], stored["content"]) == ("1", "sunnysunny")
    assert stored["toolCalls"][0]["function"]["arguments"] == '{"a":1}'
    ended(log)


@pytest.mark.parametrize(
    "event",
    [
        {**DELTA, "delta": {"text": "x"}},
        {**HELLO, "messageId": {"id": 1}},
        {**HELLO, "messageId": True},
        {**HELLO, "messageId": 1.5},
    ],
)
def test_what_could_mean_something_else_is_refused(event: Event) -> None:
    assert refused(Log(), event) == RunErrorCode.INVALID_EVENT


@pytest.mark.parametrize("between", [CUSTOM, {"type": "STEP_STARTED", "stepName": "s"},
                                     {"type": "STATE_SNAPSHOT", "snapshot": 1},
                                     {**ARGS, "toolCallId": "c", "toolCallName": "f"}])  # fmt: skip
@pytest.mark.parametrize(
    ("first", "more", "kind"),
    [
        ({**CHUNK, "messageId": "m1", "role": "user"}, CHUNK, "TEXT_MESSAGE"),
        ({**THOUGHT, "messageId": "m1"}, THOUGHT, "REASONING_MESSAGE"),
        ({**ARGS, "toolCallId": "c1", "toolCallName": "ask"}, ARGS, "TOOL_CALL"),
    ],
    ids=["text", "reasoning", "call"],
)
def test_a_bare_chunk_goes_on_with_what_something_else_has_closed(
    first: Event, more: Event, kind: str, between: Event
) -> None:
    if kind == "TOOL_CALL" and between is not CUSTOM and "toolCallId" in between:
        return  # then it goes on with that one
    log = Log().take(first, between, more)
    start = f"{kind}_START"
    starts = [event for event in bare(log) if event["type"] == start]
    starts = [event for event in starts if event.get("toolCallId") != "c"]
    assert len(starts) == 2
    assert starts[0] == starts[1]
    assert ("chunks", "continued") in rules(ended(log))
    assert refused(Log(repair=False).take(first, between), more) == RunErrorCode.INVALID_ORDER


def test_chunks_that_never_name_their_message_are_one() -> None:
    log = Log().take(CHUNK, CHUNK, CUSTOM, CHUNK)
    names = {event["messageId"] for event in bare(log) if "messageId" in event}
    assert len(names) == 1
    assert rules(ended(log)) == {("chunks", "continued")}
    named = {**ARGS, "toolCallId": "c1", "toolCallName": "ask"}
    log = Log().take(named, {**ARGS, "toolCallName": ""})
    assert log.types[1:] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS"]


@pytest.mark.parametrize(
    "spell", [str.lower, lambda kind: kind.title().replace("_", ""),
              lambda kind: kind.lower().replace("_", "-")],
)  # fmt: skip
def test_a_type_in_another_spelling_is_the_same_type(spell: Any) -> None:
    events = [HELLO, DELTA, BYE, {"type": "THINKING_START"}, {"type": "THINKING_END"}]
    log = Log().take(*({**event, "type": spell(event["type"])} for event in events))
    log.take({"type": spell("RUN_FINISHED")})
    check(log)
    assert "RAW" not in log.types
    assert ("unknown_type", "translated") in rules(log)
    strict = Log(repair=False)
    assert refused(strict, {**HELLO, "type": spell("TEXT_MESSAGE_START")}) == (
        RunErrorCode.INVALID_EVENT
    )


def test_one_that_does_not_fit_its_type_fails_the_run_rather_than_vanish() -> None:
    assert refused(Log(), {"type": "text_message_content", "text": "x"}) == (
        RunErrorCode.INVALID_EVENT
    )
