"""What agents of AG-UI 0.x send reaches clients as AG-UI 1.0."""

from typing import Any

import pytest
from ag_ui.core import EventType

from agui_host.protocol.errors import RunErrorCode
from tests.protocol.intake.test_intake import Log, check, refused

BINARY = {"type": "binary", "mimeType": "image/png", "data": "QUJD", "filename": "a.png"}
IMAGE = {
    "type": "image",
    "source": {"type": "data", "value": "QUJD", "mimeType": "image/png"},
    "metadata": {"filename": "a.png"},
}


def findings(log: Log) -> list[tuple[str, str]]:
    return [(finding.rule, finding.action) for finding in log.intake.take_findings()]


@pytest.mark.parametrize("repair", [True, False])
def test_thinking_becomes_reasoning(repair: bool) -> None:
    log = Log(repair=repair).take(
        {"type": "THINKING_START", "title": "Let me see"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "!", "timestamp": 1_700_000_000_000},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "RUN_FINISHED"},
    )
    assert log.types[1:-1] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
    ]
    span, first, *_, second, _ = [event["messageId"] for event in log.events[1:-1]]
    assert len({span, first, second}) == 3
    assert log.events[2]["role"] == "reasoning"
    assert "".join(event.get("delta", "") for event in log.events) == "hm!"
    assert findings(log) == [("legacy", "translated")]
    check(log)


def test_thinking_that_never_started_is_mended_as_one_message() -> None:
    content = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"}
    log = Log().take({"type": "THINKING_END"}, content, content, {"type": "RUN_FINISHED"})
    assert log.types[1:-1] == [
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
    ]
    check(log)
    assert refused(Log(repair=False), content) == RunErrorCode.INVALID_ORDER


@pytest.mark.parametrize("repair", [True, False])
def test_a_text_that_nothing_opens_is_the_thought_of_its_span(repair: bool) -> None:
    """The Dart SDK has such a type."""
    log = Log(repair=repair).take(
        {"type": "THINKING_START"},
        {"type": "THINKING_CONTENT", "delta": "hm"},
        {"type": "THINKING_CONTENT", "delta": "!"},
        {"type": "THINKING_END"},
        {"type": "THINKING_START"},
        {"type": "THINKING_CONTENT", "delta": "Well."},
        {"type": "THINKING_END"},
        {"type": "RUN_FINISHED"},
    )
    texts: dict[str, str] = {}
    for event in log.events:
        if event["type"] == "REASONING_MESSAGE_CONTENT":
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    assert list(texts.values()) == ["hm!", "Well."]
    assert log.types.count("REASONING_MESSAGE_END") == 2
    check(log)


@pytest.mark.parametrize(
    ("part", "modern"),
    [
        (BINARY, IMAGE),
        ({**BINARY, "mimeType": "audio/wav"}, "audio"),
        ({**BINARY, "mimeType": "video/mp4"}, "video"),
        ({**BINARY, "mimeType": "application/pdf"}, "document"),
        (
            {"type": "binary", "mime_type": "text/csv", "url": "https://x/y"},
            {
                "type": "document",
                "source": {"type": "url", "value": "https://x/y", "mimeType": "text/csv"},
            },
        ),
        ({"type": "binary", "mimeType": "image/png", "id": "file-1"}, None),
        ({"type": "binary", "data": "QUJD"}, None),
    ],
)
def test_a_binary_part_becomes_the_part_of_its_media_type(part: Any, modern: Any) -> None:
    message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "see"}, part]}
    log = Log(input={"threadId": "t", "runId": "r", "messages": [message]})
    result = {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": [part]}
    log.take({"type": "MESSAGES_SNAPSHOT", "messages": [message]}, result)
    log.add(log.intake.finish())
    parts = log.events[0]["input"]["messages"][0]["content"][1:]
    assert log.events[1]["messages"][0]["content"][1:] == parts
    assert log.events[2]["content"] == parts
    if isinstance(modern, str):
        assert [modern_part["type"] for modern_part in parts] == [modern]
    else:
        assert parts == ([modern] if modern else [])
    check(log)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([BINARY, IMAGE], [IMAGE]),
        ([IMAGE, BINARY], [IMAGE]),
        ([BINARY, BINARY], [IMAGE, IMAGE]),
        ([BINARY, {**IMAGE, "metadata": {"filename": "b.png"}}], 2),
        ([BINARY, {**IMAGE, "metadata": None}], 2),
    ],
)
def test_an_attachment_sent_in_both_forms_is_one(parts: list[Any], expected: Any) -> None:
    message = {"id": "u1", "role": "user", "content": parts}
    content = Log().take({"type": "MESSAGES_SNAPSHOT", "messages": [message]}).events[1]
    content_parts = content["messages"][0]["content"]
    assert (len(content_parts) if isinstance(expected, int) else content_parts) == expected


@pytest.mark.parametrize(
    ("outcome", "interrupt"),
    [
        ({"outcome": "interrupt"}, {}),
        ({"outcome": "interrupt", "interrupt": {"id": "i9", "reason": "human_approval"}},
         {"id": "i9", "reason": "human_approval"}),
        ({"interrupt": {"payload": {"form": [1]}}}, {"metadata": {"payload": {"form": [1]}}}),
        ({"outcome": None, "interrupt": {"id": "", "reason": None}}, {}),
        ({"outcome": "interrupt", "interrupts": [{"id": "i1", "tool_call_id": "c1"}]},
         {"id": "i1", "toolCallId": "c1"}),
        ({"outcome": "interrupt", "interrupt": {"message": "Sure?", "payload": 0,
          "metadata": {"a": 1}}}, {"message": "Sure?", "metadata": {"a": 1, "payload": 0}}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("repair", [True, False])
def test_a_draft_interrupt_becomes_an_interrupt(outcome: Any, interrupt: Any, repair: bool) -> None:
    log = Log(repair=repair).take({"type": "RUN_FINISHED", **outcome})
    defaults = {"id": "r1-1", "reason": "input_required"}
    assert log.events[-1]["outcome"] == {
        "type": "interrupt",
        "interrupts": [defaults | interrupt],
    }
    assert not {"interrupt", "interrupts"} & log.events[-1].keys()
    assert findings(log) == [("legacy", "translated")]
    check(log)


@pytest.mark.parametrize("outcome", ["success", "cancelled"])
def test_other_outcomes_as_text(outcome: str) -> None:
    log = Log().take({"type": EventType.RUN_FINISHED, "outcome": outcome})
    assert log.events[-1]["outcome"] == {"type": outcome}
    check(log)


def test_an_outcome_that_nobody_knows_stays_malformed() -> None:
    for event in ({"outcome": "weird"}, {"outcome": "interrupt", "interrupt": "now"}):
        assert refused(Log(), {"type": "RUN_FINISHED", **event}) == RunErrorCode.INVALID_EVENT
