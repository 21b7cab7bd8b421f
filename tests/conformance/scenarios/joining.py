"""Late readers in the middle of every kind of open item, and readers whose connection breaks.

Each late join is made four ways: by ``connectAgent()`` with nothing in hand, by the same with what
the reader holds so far, by a GET without a cursor, and by repeating the request.
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
    gate,
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
from tests.conformance.scenarios.plan import STOPPED, WAITING, Scenario, Turn, Wire, go

WAYS = ["connect", "reconnect", "get", "repeat"]
FIRST, HELD = text("m0", "First."), assistant("m0", "First.")


def late(
    name: str,
    before: Sequence[Wire],
    after: Sequence[Wire],
    *messages: Wire,
    state: object = None,
    pending: Sequence[str] = (),
) -> Scenario:
    """Four readers come between ``before`` and ``after``."""
    turn = Turn([*FIRST, *before, *gate(), *after], pending=pending, at={"gate": WAYS})
    return Scenario(
        f"a late reader {name}",
        [turn],
        [go(), HELD, *messages],
        state=state or {},
        older=WAITING if pending else None,
    )


def end(kind: str, **name: str) -> Wire:
    """The END of a part."""
    return emit(f"{kind}_END", **name)


LATE = [
    late("between messages", [], text("m1", "x"), assistant("m1", "x")),
    late(
        "in a text",
        text("m1", "Hel", end=False),
        [*more("m1", "lo"), end("TEXT_MESSAGE", messageId="m1")],
        assistant("m1", "Hello"),
    ),
    late(
        "in a text that has not begun",
        text("m1", end=False),
        [*more("m1", "Hello"), end("TEXT_MESSAGE", messageId="m1")],
        assistant("m1", "Hello"),
    ),
    late(
        "in a text with a name and metadata",
        text("m1", "Hel", end=False, name="Ada", metadata={"a": 1}),
        [
            emit("TEXT_MESSAGE_CONTENT", messageId="m1", delta="lo", metadata={"b": [None]}),
            end("TEXT_MESSAGE", messageId="m1"),
        ],
        assistant("m1", "Hello", name="Ada", metadata={"a": 1, "b": [None]}),
    ),
    late(
        "in a call's arguments",
        call("c1", '{"at"', end=False),
        [*args("c1", ":1}"), end("TOOL_CALL", toolCallId="c1"), result("c1")],
        called("c1", a_call("c1", '{"at":1}')),
        got("c1"),
    ),
    late(
        "in a call of a message",
        [*text("m1", "I look."), *call("c1", "{", end=False, parentMessageId="m1")],
        [*args("c1", "}"), end("TOOL_CALL", toolCallId="c1"), result("c1")],
        assistant("m1", "I look.", toolCalls=[a_call("c1", "{}")]),
        got("c1"),
    ),
    late(
        "in a call for the application",
        call("c1", "{", end=False),
        [*args("c1", "}"), end("TOOL_CALL", toolCallId="c1")],
        called("c1", a_call("c1", "{}")),
        pending=["c1"],
    ),
    late(
        "between a call and its result",
        call("c1", "{}"),
        [result("c1")],
        called("c1", a_call("c1", "{}")),
        got("c1"),
    ),
    late(
        "in a span of reasoning",
        [emit("REASONING_START", messageId="span")],
        [*thought("r1", "hm", span=False), emit("REASONING_END", messageId="span")],
        mused("r1", "hm"),
    ),
    late(
        "in a thought",
        thought("r1", "h", end=False),
        [
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta="m"),
            end("REASONING_MESSAGE", messageId="r1"),
            emit("REASONING_END", messageId="r1-span"),
            emit(
                "REASONING_ENCRYPTED_VALUE", subtype="message", entityId="r1", encryptedValue="=="
            ),
        ],
        mused("r1", "hm", encryptedValue="=="),
    ),
    late(
        "in a step of a step",
        step("a", *step("b", end=False), end=False),
        [
            *text("m1", "x"),
            emit("STEP_FINISHED", stepName="b"),
            emit("STEP_FINISHED", stepName="a"),
        ],
        assistant("m1", "x"),
    ),
    late(
        "in a subagent's text",
        subagent("s1", *text("m1", "be", end=False, **S1), end=False),
        [
            *more("m1", "low"),
            end("TEXT_MESSAGE", messageId="m1"),
            emit("SUBAGENT_FINISHED", subagentRunId="s1"),
        ],
        assistant("m1", "below", **S1),
    ),
    late(
        "in a subagent's subagent",
        subagent("s1", *subagent("s2", parentSubagentRunId="s1", end=False), end=False),
        [
            *step("dig", *text("m1", "x", **S2), **S2),
            emit("SUBAGENT_FINISHED", subagentRunId="s2"),
            emit("SUBAGENT_ERROR", subagentRunId="s1", message="no"),
        ],
        assistant("m1", "x", **S2),
    ),
    late(
        "behind a subagent whose child is to come",
        subagent("s1"),
        subagent("s2", *text("m1", "x", **S2), parentSubagentRunId="s1"),
        assistant("m1", "x", **S2),
    ),
    late(
        "in the life of an activity",
        [activity("a1", {"list": ["a"]})],
        [
            emit(
                "ACTIVITY_DELTA",
                messageId="a1",
                activityType="PLAN",
                patch=[add("/list/-", "b"), add("/done", True)],
            )
        ],
        doing("a1", {"list": ["a", "b"], "done": True}),
    ),
    late(
        "in the life of a state",
        [emit("STATE_SNAPSHOT", snapshot={"list": []}), patch(add("/list/-", 1))],
        [patch(add("/list/-", 2))],
        state={"list": [1, 2]},
    ),
    late(
        "in a text in chunks",
        [
            emit("TEXT_MESSAGE_CHUNK", messageId="m1", delta="Hel"),
            emit("TEXT_MESSAGE_CHUNK", delta="l"),
        ],
        [emit("TEXT_MESSAGE_CHUNK", delta="o")],
        assistant("m1", "Hello"),
    ),
    late(
        "in everything at once",
        [
            emit("STATE_SNAPSHOT", snapshot={"n": 1}),
            *step("a", end=False),
            *thought("r1", "if", end=False),
            *text("m1", "So", end=False),
            *call("c1", '{"a"', end=False),
            *subagent("s1", *text("m2", "be", end=False, **S1), end=False),
            activity("a1", {"done": 0}),
        ],
        [
            *more("m2", "low"),
            patch(add("/m", 2)),
            *args("c1", ":1}"),
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta=" then"),
            *more("m1", " be it"),
        ],
        mused("r1", "if then"),
        assistant("m1", "So be it"),
        called("c1", a_call("c1", '{"a":1}')),
        assistant("m2", "below", **S1),
        doing("a1", {"done": 0}),
        state={"n": 1, "m": 2},
        pending=["c1"],
    ),
    late(
        "behind restated messages",
        [
            *text("m1", "wrong", end=False),
            emit("MESSAGES_SNAPSHOT", messages=[go(), HELD, assistant("m1", "right")]),
        ],
        [*more("m1", ", is it"), end("TEXT_MESSAGE", messageId="m1")],
        assistant("m1", "right, is it"),
    ),
    Scenario(
        "a late reader of a second run",
        [
            Turn([*FIRST, emit("STATE_SNAPSHOT", snapshot={"n": 1})]),
            Turn(
                [*text("m1", "Hel", end=False), *gate(), *more("m1", "lo"), patch(add("/m", 2))],
                at={"gate": WAYS},
            ),
        ],
        [go(), HELD, go(2), assistant("m1", "Hello")],
        state={"n": 1, "m": 2},
    ),
    Scenario(
        "a late reader of a run that fails",
        [
            Turn(
                [*text("m1", "Hel", end=False), *gate(), *more("m1", "lo"), {"raise": "secret"}],
                ends="error agent_error",
                at={"gate": WAYS},
            )
        ],
        [go(), assistant("m1", "Hello")],
    ),
    Scenario(
        "a late reader of a run that asks",
        [
            Turn(
                [
                    *call("c1", "{", end=False),
                    *gate(),
                    *args("c1", "}"),
                    {"interrupt": {"reason": "tool_call", "tool_call_id": "c1", "id": "q1"}},
                ],
                ends="interrupt",
                at={"gate": WAYS},
            )
        ],
        [go(), called("c1", a_call("c1", "{}"))],
        interrupts=["q1"],
    ),
    Scenario(
        "a late reader of a run that is cancelled",
        [
            Turn(
                [*text("m1", "I was", end=False), *gate(), {"forever": True}],
                ends="cancelled",
                at={"gate": ["connect", "reconnect", "repeat", "cancel"]},
            )
        ],
        [go(), assistant("m1", "I was")],
        older=STOPPED,
    ),
]


def broken(
    name: str,
    script: Sequence[Wire],
    *messages: Wire,
    ends: str = "success",
    at: dict[str, list[str]] | None = None,
    newer: str = "",
) -> Scenario:
    """The connection of a HostAgent breaks at the gates."""
    cuts = at or {"gate": ["cut"]}
    turn = Turn(script, ends, at=cuts, reader="host")
    return Scenario(f"a connection that breaks {name}", [turn], [go(), *messages], newer=newer)


BROKEN = [
    broken(
        "in a text",
        [*text("m1", "Hel", end=False), *gate(), *more("m1", "lo")],
        assistant("m1", "Hello"),
    ),
    broken(
        "in a call's arguments",
        [*call("c1", '{"at"', end=False), *gate(), *args("c1", ":1}"), result("c1")],
        called("c1", a_call("c1", '{"at":1}')),
        got("c1"),
    ),
    broken(
        "in a thought",
        [
            *thought("r1", "h", end=False),
            *gate(),
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta="m"),
        ],
        mused("r1", "hm"),
    ),
    broken(
        "three times",
        [
            *text("m1", "a", end=False),
            *gate("one"),
            *more("m1", "b"),
            *gate("two"),
            *gate("three"),
            *more("m1", *["c"] * 500),
        ],
        assistant("m1", "ab" + "c" * 500),
        at={"one": ["cut"], "two": ["cut"], "three": ["cut"]},
    ),
    broken(
        "before a failure",
        [*text("m1", "x", end=False), *gate(), {"raise": "secret"}],
        assistant("m1", "x"),
        ends="error agent_error",
    ),
    broken(
        "before a cancel",
        [*text("m1", "x", end=False), *gate(), {"forever": True}],
        assistant("m1", "x"),
        ends="cancelled",
        at={"gate": ["cut", "cancel"]},
        newer="HostAgent is made for 1.x: it goes on by GET, which names no version.",
    ),
    broken(
        "beside a late reader",
        [*text("m1", "Hel", end=False), *gate(), *more("m1", "lo")],
        assistant("m1", "Hello"),
        at={"gate": ["cut", *WAYS]},
    ),
]

SCENARIOS = [*LATE, *BROKEN]
