from typing import Any

import pytest

from agui_host.protocol.intake.chunks import CLOSE_ALL, CLOSE_NONE, FORMS, Chunks
from agui_host.protocol.schema import EVENTS
from agui_host.protocol.violation import Violation


def text(delta: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CHUNK", **fields} | ({} if delta is None else {"delta": delta})


def call(delta: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"type": "TOOL_CALL_CHUNK", **fields} | ({} if delta is None else {"delta": delta})


def thought(delta: str | None = None, **fields: Any) -> dict[str, Any]:
    return {**text(delta, **fields), "type": "REASONING_MESSAGE_CHUNK"}


def start(name_: str, **fields: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_START", "messageId": name_, "role": "assistant", **fields}


def content(name: str, delta: str, **fields: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta, **fields}


def end(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_END", "messageId": name, **fields}


STATE = {"type": "STATE_SNAPSHOT", "snapshot": {}}
S1 = {"subagentRunId": "s1"}
S2 = {"subagentRunId": "s2"}


def expanded(*events: dict[str, Any]) -> list[dict[str, Any]]:
    chunks = Chunks()
    return [event for chunk in events for event in chunks.expand(chunk)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [text("a", messageId="m"), text("b"), STATE],
            [start("m"), content("m", "a"), content("m", "b"), end("m"), STATE],
            id="later chunks may leave the id out",
        ),
        pytest.param(
            [text("a", messageId="m"), text("b", messageId="m", role="assistant")],
            [start("m"), content("m", "a"), content("m", "b")],
            id="or repeat it, and what else was settled",
        ),
        pytest.param(
            [text("a", messageId="m"), text("b", messageId="n")],
            [start("m"), content("m", "a"), end("m"), start("n"), content("n", "b")],
            id="another id ends the first message",
        ),
        pytest.param(
            [text(messageId="m", role="user", name="Bo"), text(), text("")],
            [start("m", role="user", name="Bo"), content("m", "")],
            id="no delta, no content",
        ),
        pytest.param(
            [call("{", toolCallId="c", toolCallName="f", parentMessageId="m"), call("}"), STATE],
            [
                {
                    "type": "TOOL_CALL_START",
                    "toolCallId": "c",
                    "toolCallName": "f",
                    "parentMessageId": "m",
                },
                {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"},
                {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "}"},
                {"type": "TOOL_CALL_END", "toolCallId": "c"},
                STATE,
            ],
            id="a tool call",
        ),
        pytest.param(
            [thought("hm", messageId="r"), text("a", messageId="m")],
            [
                {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
                {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"},
                {"type": "REASONING_MESSAGE_END", "messageId": "r"},
                start("m"),
                content("m", "a"),
            ],
            id="another kind in the lane ends it",
        ),
        pytest.param(
            [text("a", messageId="m", **S1), text("b", messageId="n", **S2), text("c", **S1)],
            [
                start("m", **S1),
                content("m", "a", **S1),
                start("n", **S2),
                content("n", "b", **S2),
                content("m", "c", **S1),
            ],
            id="lanes do not disturb each other",
        ),
        pytest.param(
            [text("a", messageId="m", **S1), text("b"), text("c", messageId="m")],
            [
                start("m", **S1),
                content("m", "a", **S1),
                content("m", "b", **S1),
                content("m", "c", **S1),
            ],
            id="no tag and no id: the only open stream of that kind",
        ),
        pytest.param(
            [text("a", messageId="m"), text("b", messageId="n", **S1), text("c")],
            [
                start("m"),
                content("m", "a"),
                start("n", **S1),
                content("n", "b", **S1),
                content("m", "c"),
            ],
            id="no tag and no id: the parent's first",
        ),
        pytest.param(
            [text("a", messageId="m", **S1), {**STATE, **S1}],
            [start("m", **S1), content("m", "a", **S1), end("m", **S1), {**STATE, **S1}],
            id="an event of a subagent ends its own lane",
        ),
        pytest.param(
            [text("a", messageId="m", timestamp=7, metadata={"k": 1}, rawEvent=[1])],
            [
                start("m", timestamp=7, metadata={"k": 1}),
                content("m", "a", timestamp=7, metadata={"k": 1}, rawEvent=[1]),
            ],
            id="the provider's event rides on the content",
        ),
        pytest.param(
            [text("a", messageId="m"), text(metadata={"usage": 3}), text(rawEvent=1)],
            [
                start("m"),
                content("m", "a"),
                content("m", "", metadata={"usage": 3}),
                content("m", "", rawEvent=1),
            ],
            id="metadata alone is carried by an empty delta",
        ),
    ],
)
def test_chunks_become_triads(events: list[Any], expected: list[Any]) -> None:
    assert expanded(*events) == expected


@pytest.mark.parametrize("kind", sorted(set(EVENTS) - set(FORMS)))
def test_what_ends_a_stream(kind: str) -> None:
    chunks = Chunks()
    for opener in (text("a", messageId="m"), text("b", messageId="n", **S1)):
        chunks.expand(opener)
    ends = [event.get("subagentRunId") for event in chunks.expand({"type": kind, **S1})[:-1]]
    if kind in CLOSE_ALL:
        assert ends == [None, "s1"]
    elif kind in CLOSE_NONE:
        assert ends == []
    else:
        assert ends == ["s1"]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([text("a")], id="first without messageId"),
        pytest.param([thought("a")], id="first thought without messageId"),
        pytest.param([call("a", toolCallName="f")], id="first without toolCallId"),
        pytest.param([call("a", toolCallId="c")], id="first without toolCallName"),
        pytest.param([text("a", messageId="m"), STATE, text("b")], id="bare after it ended"),
        pytest.param(
            [text("a", messageId="m"), text("b", role="user")], id="another role than settled"
        ),
        pytest.param([text("a", messageId="m"), text("b", name="Bo")], id="a name too late"),
        pytest.param(
            [call(toolCallId="c", toolCallName="f"), call("x", toolCallName="g")],
            id="another tool name",
        ),
        pytest.param(
            [call(toolCallId="c", toolCallName="f"), call("x", parentMessageId="m")],
            id="a parent too late",
        ),
        pytest.param(
            [text("a", messageId="m"), text("b", messageId="m", **S1)], id="another owner"
        ),
        pytest.param(
            [text("a", messageId="m", **S1), text("b", messageId="n", **S2), text("c")],
            id="ambiguous",
        ),
    ],
)
def test_chunks_that_lead_nowhere_are_refused(events: list[Any]) -> None:
    *before, last = events
    chunks = Chunks()
    for event in before:
        chunks.expand(event)
    with pytest.raises(Violation) as caught:
        chunks.expand(last)
    assert caught.value.rule == "chunks"
