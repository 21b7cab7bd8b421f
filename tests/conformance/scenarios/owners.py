"""Subagents, chunks in lanes, and what belongs to whom."""

from tests.conformance.scenarios.parts import (
    S1,
    S2,
    a_call,
    activity,
    assistant,
    call,
    called,
    doing,
    emit,
    got,
    more,
    mused,
    result,
    step,
    subagent,
    text,
)
from tests.conformance.scenarios.plan import Wire
from tests.conformance.scenarios.talk import one

SUBAGENTS = [
    one(
        "a subagent",
        subagent("s1", *text("m1", "from below", **S1), description="digs"),
        assistant("m1", "from below", **S1),
    ),
    one(
        "a subagent of a subagent",
        subagent("s1", *subagent("s2", *text("m1", "deep", **S2), parentSubagentRunId="s1")),
        assistant("m1", "deep", **S2),
    ),
    one(
        "two subagents at once",
        [
            *subagent("s1", *text("m1", "a", end=False, **S1), end=False),
            *subagent("s2", *text("m2", "b", end=False, **S2), end=False),
            *more("m1", "A"),
            *more("m2", "B"),
            emit("TEXT_MESSAGE_END", messageId="m1"),
            emit("TEXT_MESSAGE_END", messageId="m2", **S2),
            emit("SUBAGENT_FINISHED", subagentRunId="s2", result={"n": 1}),
            emit("SUBAGENT_FINISHED", subagentRunId="s1", outcome={"type": "success"}),
        ],
        assistant("m1", "aA", **S1),
        assistant("m2", "bB", **S2),
    ),
    one(
        "a subagent that fails",
        [
            *subagent("s1", *text("m1", "I try", **S1), end=False),
            emit("SUBAGENT_ERROR", subagentRunId="s1", message="no", code="tired"),
            *text("m2", "Then I do it."),
        ],
        assistant("m1", "I try", **S1),
        assistant("m2", "Then I do it."),
    ),
    one(
        "a subagent's call",
        [
            *call("c1", "{}", tool="delegate"),
            *subagent("s1", *call("c2", "{}", **S1), result("c2", **S1), parentToolCallId="c1"),
            result("c1", "done"),
        ],
        called("c1", a_call("c1", "{}", tool="delegate")),
        got("c1", "done"),
        called("c2", a_call("c2", "{}"), **S1),
        got("c2", **S1),
    ),
    one(
        "a subagent's thought and plan",
        subagent(
            "s1",
            emit("REASONING_START", messageId="span", **S1),
            emit("REASONING_MESSAGE_START", messageId="r1", role="reasoning", **S1),
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta="hm"),
            emit("REASONING_MESSAGE_END", messageId="r1"),
            emit("REASONING_END", messageId="span"),
            activity("a1", {"done": 0}, **S1),
        ),
        mused("r1", "hm", **S1),
        doing("a1", {"done": 0}, **S1),
    ),
    one(
        "one step of two owners",
        step("look", *subagent("s1", *step("look", *text("m1", "x", **S1), **S1))),
        assistant("m1", "x", **S1),
    ),
    one("a tag without a subagent", text("m1", "x", **S1), assistant("m1", "x", **S1)),
]

METADATA = [
    one(
        "metadata of a message",
        [
            emit("TEXT_MESSAGE_START", messageId="m1", role="assistant", metadata={"a": 1, "b": 1}),
            emit("TEXT_MESSAGE_CONTENT", messageId="m1", delta="x", metadata={"b": {"c": None}}),
            emit("TEXT_MESSAGE_END", messageId="m1"),
        ],
        assistant("m1", "x", metadata={"a": 1, "b": {"c": None}}),
    ),
]


def chunk(kind: str, **fields: object) -> Wire:
    """An event of the shorthand."""
    return emit(f"{kind}_CHUNK", **fields)


CHUNKS = [
    one(
        "text in chunks",
        [
            chunk("TEXT_MESSAGE", messageId="m1", delta="one "),
            chunk("TEXT_MESSAGE", delta="two"),
            chunk("TEXT_MESSAGE", messageId="m2", delta="three"),
        ],
        assistant("m1", "one two"),
        assistant("m2", "three"),
    ),
    one(
        "calls in chunks",
        [
            chunk("TOOL_CALL", toolCallId="c1", toolCallName="look", delta='{"at"'),
            chunk("TOOL_CALL", delta=":1}"),
            chunk("TOOL_CALL", toolCallId="c2", toolCallName="see", delta="{}"),
            result("c1"),
            result("c2", "2"),
        ],
        called("c1", a_call("c1", '{"at":1}')),
        got("c1"),
        called("c2", a_call("c2", "{}", tool="see")),
        got("c2", "2"),
    ),
    one(
        "reasoning in chunks",
        [
            chunk("REASONING_MESSAGE", messageId="r1", delta="h"),
            chunk("REASONING_MESSAGE", delta="m"),
        ],
        mused("r1", "hm"),
    ),
    one(
        "an agent of chunks only",
        [
            chunk("REASONING_MESSAGE", messageId="r1", delta="I look"),
            chunk("TOOL_CALL", toolCallId="c1", toolCallName="look", delta="{}"),
            result("c1"),
            chunk("TEXT_MESSAGE", messageId="m1", delta="It "),
            chunk("TEXT_MESSAGE", delta="is"),
            chunk("TEXT_MESSAGE", delta=""),
            chunk("TEXT_MESSAGE", delta=" 42."),
        ],
        mused("r1", "I look"),
        called("c1", a_call("c1", "{}")),
        got("c1"),
        assistant("m1", "It is 42."),
    ),
    one(
        "chunks of three lanes",
        [
            *subagent("s1", end=False),
            *subagent("s2", end=False),
            chunk("TEXT_MESSAGE", messageId="m0", delta="p"),
            chunk("TEXT_MESSAGE", messageId="m1", delta="a", **S1),
            chunk("TEXT_MESSAGE", messageId="m2", delta="b", **S2),
            chunk("TEXT_MESSAGE", delta="P"),
            chunk("TEXT_MESSAGE", delta="A", **S1),
            chunk("TEXT_MESSAGE", delta="B", **S2),
            emit("SUBAGENT_FINISHED", subagentRunId="s1"),
            emit("SUBAGENT_FINISHED", subagentRunId="s2"),
        ],
        assistant("m0", "pP"),
        assistant("m1", "aA", **S1),
        assistant("m2", "bB", **S2),
    ),
]

SCENARIOS = [*SUBAGENTS, *METADATA, *CHUNKS]
