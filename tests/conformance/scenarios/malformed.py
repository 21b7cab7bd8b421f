"""Agents that break the rules, by name: those of the verifier (V1–V13) and of the schema.

Each is played under both policies. Under ``repair`` what is clear is mended and the client sees a
legal run; under ``fail``, and where nothing is clear, the run ends with RUN_ERROR.
"""

from collections.abc import Sequence

from tests.conformance.scenarios.parts import (
    S1,
    S2,
    a_call,
    activity,
    add,
    args,
    assistant,
    call,
    called,
    doing,
    emit,
    got,
    more,
    mused,
    patch,
    result,
    step,
    subagent,
    text,
    thought,
)
from tests.conformance.scenarios.plan import Scenario, Turn, Wire, go

ORDER, EVENT = "error invalid_order", "error invalid_event"
AFTER = text("after", "x")
FINE = assistant("after", "x")
STARTED = emit("RUN_STARTED", threadId="their thread", runId="their run")
FINISHED = emit("RUN_FINISHED", threadId="their thread", runId="their run")
FAILED = emit("RUN_ERROR", message="no", code="acme")
NEWER = "The log is legal before anybody reads it, and test_older_clients has 0.x read legal logs."


def bad(
    name: str,
    script: Sequence[Wire],
    *messages: Wire,
    strict: str = ORDER,
    before: Sequence[Wire] = (),
    state: object = None,
    ends: str = "success",
    pending: Sequence[str] = (),
) -> list[Scenario]:
    """Both policies: mended, ``messages`` are held; under ``fail`` those ``before``.

    ``ends`` is how the mended run ends.
    """
    strictly = list(messages) if strict == ends else list(before)
    return [
        Scenario(
            f"{name}, mended",
            [Turn(script, ends, pending)],
            [go(), *messages],
            state=state or {},
            newer=NEWER,
        ),
        Scenario(
            f"{name}, strictly",
            [Turn(script, strict, agent="strict")],
            [go(), *strictly],
            state=state or {},
            newer=NEWER,
        ),
    ]


def harmless(
    name: str, script: Sequence[Wire], *messages: Wire, ends: str = "success"
) -> list[Scenario]:
    """What the host sets right under both policies, since no reader can mistake it."""
    return bad(name, script, *messages, ends=ends, strict=ends)


def hopeless(
    name: str, script: Sequence[Wire], *messages: Wire, ends: str = ORDER, state: object = None
) -> list[Scenario]:
    """What nobody can mend: it ends the run under both policies."""
    return bad(name, script, *messages, ends=ends, strict=ends, state=state)


RUNS = [
    *harmless("no RUN_STARTED", AFTER, FINE),
    *hopeless("RUN_STARTED twice", [STARTED, STARTED, *AFTER]),
    *hopeless("RUN_STARTED in the middle", [STARTED, *AFTER, STARTED], FINE),
    *harmless("an event after RUN_FINISHED", [*AFTER, FINISHED, *text("late", "y")], FINE),
    *harmless("RUN_FINISHED twice", [*AFTER, FINISHED, FINISHED], FINE),
    *harmless("RUN_ERROR after RUN_FINISHED", [*AFTER, FINISHED, FAILED], FINE),
    *harmless("RUN_ERROR first", [FAILED], ends="error acme"),
    *harmless(
        "RUN_ERROR in a message",
        [*text("m1", "x", end=False), FAILED],
        assistant("m1", "x"),
        ends="error acme",
    ),
    *harmless("an event after RUN_ERROR", [FAILED, *AFTER], ends="error acme"),
    *harmless("RUN_FINISHED after RUN_ERROR", [FAILED, FINISHED], ends="error acme"),
    *harmless("a run after RUN_ERROR", [FAILED, STARTED, *AFTER, FINISHED], ends="error acme"),
    *harmless("another run's ids", [STARTED, *AFTER, FINISHED], FINE),
    *harmless("no terminal event", [STARTED, *text("after", "x", end=False)], FINE),
]

TEXT = [
    *bad("content before its start", [*more("m1", "x"), *AFTER], assistant("m1", "x"), FINE),
    *bad(
        "a start twice",
        [*text("m1", "x", end=False), *text("m1", "y")],
        assistant("m1", "xy"),
        before=[assistant("m1", "x")],
    ),
    *bad("an end without a start", [emit("TEXT_MESSAGE_END", messageId="m1"), *AFTER], FINE),
    *bad(
        "content after its end",
        [*text("m1", "x"), *more("m1", "y")],
        assistant("m1", "xy"),
        before=[assistant("m1", "x")],
    ),
    *bad(
        "a message open at the finish",
        [*text("after", "x", end=False), FINISHED],
        FINE,
        before=[FINE],
    ),
]

TOOLS = [
    *bad(
        "arguments before their start",
        [*args("c1", "{}"), *AFTER],
        called("c1", a_call("c1", "{}", tool="unknown")),
        FINE,
        pending=["c1"],
    ),
    *bad(
        "a call's start twice",
        [*call("c1", "{", end=False), *call("c1", "}"), result("c1")],
        called("c1", a_call("c1", "{}")),
        got("c1"),
        before=[called("c1", a_call("c1", "{"))],
    ),
    *bad("a call's end without a start", [emit("TOOL_CALL_END", toolCallId="c1"), *AFTER], FINE),
    *bad(
        "a call open at the finish",
        [*call("c1", "{}", end=False), result("c1"), FINISHED],
        called("c1", a_call("c1", "{}")),
        got("c1"),
        before=[called("c1", a_call("c1", "{}")), got("c1")],
    ),
    *harmless("a result for an unknown call", [result("c1"), *AFTER], got("c1"), FINE),
]

REASONING = [
    *bad(
        "a thought before its start",
        [emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta="hm"), *AFTER],
        mused("r1", "hm"),
        FINE,
    ),
    *bad("a span's end without a start", [emit("REASONING_END", messageId="r1"), *AFTER], FINE),
    *bad("a span twice", [emit("REASONING_START", messageId="r1")] * 2 + AFTER, FINE),
    *bad(
        "a thought open at the finish",
        [*thought("r1", "hm", end=False), FINISHED],
        mused("r1", "hm"),
        before=[mused("r1", "hm")],
    ),
]

STEPS = [
    *bad("a step twice at once", [*step("a", end=False), *step("a"), *AFTER], FINE),
    *bad("the end of an unknown step", [emit("STEP_FINISHED", stepName="a"), *AFTER], FINE),
    *bad(
        "a step open at the finish", [*step("a", end=False), *AFTER, FINISHED], FINE, before=[FINE]
    ),
    *bad(
        "a step ended by another owner",
        [*step("a", end=False), emit("STEP_FINISHED", stepName="a", **S1), *AFTER],
        FINE,
    ),
]

OWNERS = [
    *bad(
        "a subagent twice at once",
        [*subagent("s1", *subagent("s1", end=False), end=False), *AFTER],
        FINE,
    ),
    *bad(
        "the end of an unknown subagent",
        [emit("SUBAGENT_FINISHED", subagentRunId="s1"), *AFTER],
        FINE,
    ),
    *bad(
        "a subagent open at the finish",
        [*subagent("s1", end=False), *AFTER, FINISHED],
        FINE,
        before=[FINE],
    ),
    *hopeless("a subagent that is reused", [*AFTER, *subagent("s1"), *subagent("s1")], FINE),
    *hopeless(
        "a subagent of an unknown parent", [*AFTER, *subagent("s1", parentSubagentRunId="s0")], FINE
    ),
    *hopeless(
        "a message of two owners",
        [
            *text("m1", "x", end=False, **S1),
            emit("TEXT_MESSAGE_CONTENT", messageId="m1", delta="y", **S2),
        ],
        assistant("m1", "x", **S1),
    ),
    *hopeless(
        "a call on another's message",
        [*text("m1", "x", **S1), *call("c1", parentMessageId="m1", **S2)],
        assistant("m1", "x", **S1),
    ),
    *hopeless(
        "an activity of two owners",
        [
            activity("a1", {"n": 0}, **S1),
            emit("ACTIVITY_DELTA", messageId="a1", activityType="PLAN", patch=[add("/n", 1)], **S2),
        ],
        doing("a1", {"n": 0}, **S1),
    ),
    *hopeless(
        "a secret of two owners",
        [
            *text("m1", "x", **S1),
            emit(
                "REASONING_ENCRYPTED_VALUE",
                subtype="message",
                entityId="m1",
                encryptedValue="a",
                **S2,
            ),
        ],
        assistant("m1", "x", **S1),
    ),
    *harmless("an owner that is null", text("after", "x", subagentRunId=None), FINE),
]

N = emit("STATE_SNAPSHOT", snapshot={"n": 1})
REMOVE = {"op": "remove", "path": "/none"}

STATE = [
    *bad("a change that does not apply", [N, patch(REMOVE), *AFTER], FINE, state={"n": 1}),
    *bad(
        "a change that applies by half",
        [N, patch(add("/m", 1), REMOVE), *AFTER],
        FINE,
        state={"n": 1},
    ),
    *bad(
        "an activity's change that does not apply",
        [
            activity("a1", {"n": 0}),
            emit("ACTIVITY_DELTA", messageId="a1", activityType="PLAN", patch=[REMOVE]),
        ],
        doing("a1", {"n": 0}),
        before=[doing("a1", {"n": 0})],
    ),
]

QUESTION = {"id": "q1", "reason": "acme:ask"}


def ends_with(*interrupts: Wire) -> Wire:
    """RUN_FINISHED with these questions."""
    return emit("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": list(interrupts)})


SCHEMA = [
    *bad("an unknown event", [emit("NO_SUCH_EVENT", value=1), *AFTER], FINE, strict=EVENT),
    *harmless("an unknown field", text("after", "x", colour="red"), FINE),
    *harmless("an optional null", text("after", "x", name=None, metadata=None), FINE),
    *harmless("an unknown change", [patch({"op": "frob", "path": "/n"}), *AFTER], FINE),
    *harmless(
        "an unknown outcome", [*AFTER, emit("RUN_FINISHED", outcome={"type": "maybe"})], FINE
    ),
    Scenario(
        "questions with one id, mended",
        [Turn([*AFTER, ends_with(QUESTION, QUESTION)], ends="interrupt")],
        [go(), FINE],
        interrupts=["q1", "q1~2"],
    ),
    Scenario(
        "questions with one id, strictly",
        [Turn([*AFTER, ends_with(QUESTION, QUESTION)], ends=ORDER, agent="strict")],
        [go(), FINE],
    ),
    *hopeless("no questions", [*AFTER, ends_with()], FINE, ends=EVENT),
    *bad(
        "a number for an id",
        [*AFTER, emit("TEXT_MESSAGE_START", messageId=7)],
        FINE,
        assistant("7", ""),
        strict=EVENT,
        before=[FINE],
    ),
    *hopeless(
        "a text of an unknown role", [*AFTER, *text("m1", "x", role="tool")], FINE, ends=EVENT
    ),
    *harmless("a time with a fraction", text("after", "x", timestamp=1.5), FINE),
    *harmless("a time as text", text("after", "x", timestamp="2026-01-01"), FINE),
    *bad(
        "a patch that is no list",
        [*AFTER, emit("STATE_DELTA", delta={})],
        FINE,
        strict=EVENT,
        before=[FINE],
    ),
    *hopeless("a path without a slash", [*AFTER, patch(add("n", 1))], FINE, ends=EVENT),
    *hopeless("an activity that is a list", [*AFTER, activity("a1", [1])], FINE, ends=EVENT),
    *bad(
        "a code that is a number",
        [*AFTER, emit("RUN_ERROR", message="no", code=7)],
        FINE,
        ends="error 7",
        strict=EVENT,
        before=[FINE],
    ),
    *bad(
        "a result that is an object",
        [*AFTER, result("c1", {"n": 1})],
        FINE,
        got("c1", '{"n":1}'),
        strict=EVENT,
        before=[FINE],
    ),
    *hopeless(
        "negative usage",
        [*AFTER, emit("RUN_FINISHED", usage=[{"inputTokens": -1}])],
        FINE,
        ends=EVENT,
    ),
    *harmless(
        "a thought without a role",
        [
            emit("REASONING_MESSAGE_START", messageId="r1"),
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta="hm"),
            emit("REASONING_MESSAGE_END", messageId="r1"),
        ],
        mused("r1", "hm"),
    ),
]

CHUNKS = [
    *hopeless("a call's chunk without an id", [*AFTER, emit("TOOL_CALL_CHUNK", delta="x")], FINE),
    *bad(
        "a chunk that is ended",
        [
            emit("TEXT_MESSAGE_CHUNK", messageId="m1", delta="x"),
            emit("CUSTOM", name="acme.pause", value=0),
            emit("TEXT_MESSAGE_CHUNK", delta="y"),
        ],
        assistant("m1", "xy"),
        before=[assistant("m1", "x")],
    ),
]

SCENARIOS = [
    *RUNS, *TEXT, *TOOLS, *REASONING, *STEPS, *OWNERS, *STATE, *SCHEMA, *CHUNKS
]  # fmt: skip
