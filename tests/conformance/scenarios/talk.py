"""What agents say: text, tool calls, reasoning, activities, steps, state, events of their own."""

from tests.conformance.scenarios.parts import (
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
    text,
    thought,
)
from tests.conformance.scenarios.plan import Scenario, Turn, Wire, go

ODD = "Grüße, 🦊 \u0001 \u2028id: 7\u2028 \u0085\n\ndata: no"


def one(name: str, script: list[Wire], *messages: Wire, **more: object) -> Scenario:
    """A scenario of one run."""
    return Scenario(name, [Turn(script)], [go(), *messages], **more)  # type: ignore[arg-type]


TEXT = [
    one("text", text("m1", "Hello ", "world"), assistant("m1", "Hello world")),
    one("text of every kind", text("m1", ODD, *ODD), assistant("m1", ODD * 2)),
    one("an empty delta", text("m1", "", "x", ""), assistant("m1", "x")),
    one("an empty message", text("m1"), assistant("m1", "")),
    one(
        "a message of another role",
        text("m1", "Be kind.", role="system"),
        {"id": "m1", "role": "system", "content": "Be kind."},
    ),
    one("a message with a name", text("m1", "Hi", name="Ada"), assistant("m1", "Hi", name="Ada")),
    one("a thousand deltas", text("m1", *["word "] * 1000), assistant("m1", "word " * 1000)),
    one(
        "a closed message goes on",
        [*text("m1", "one"), *text("m2", "between"), *text("m1", " two")],
        assistant("m1", "one two"),
        assistant("m2", "between"),
    ),
    one(
        "two messages at once",
        [
            *text("m1", "a", end=False),
            *text("m2", "b", end=False),
            *more("m1", "A"),
            *more("m2", "B"),
            emit("TEXT_MESSAGE_END", messageId="m2"),
            emit("TEXT_MESSAGE_END", messageId="m1"),
        ],
        assistant("m1", "aA"),
        assistant("m2", "bB"),
    ),
]

TOOLS = [
    one(
        "a tool call with its result",
        [*call("c1", '{"at":', '"x"}'), result("c1")],
        called("c1", a_call("c1", '{"at":"x"}')),
        got("c1"),
    ),
    one(
        "a call without arguments",
        [*call("c1"), result("c1", "")],
        called("c1", a_call("c1")),
        got("c1", ""),
    ),
    one(
        "a call of a message",
        [*text("m1", "I look."), *call("c1", "{}", parentMessageId="m1"), result("c1")],
        assistant("m1", "I look.", toolCalls=[a_call("c1", "{}")]),
        got("c1"),
    ),
    one(
        "two calls at once",
        [
            *call("c1", '{"a"', end=False),
            *call("c2", '{"b"', end=False),
            *args("c1", ":1}"),
            *args("c2", ":2}"),
            emit("TOOL_CALL_END", toolCallId="c1"),
            emit("TOOL_CALL_END", toolCallId="c2"),
            result("c2", "two"),
            result("c1", "one"),
        ],
        called("c1", a_call("c1", '{"a":1}')),
        got("c1", "one"),
        called("c2", a_call("c2", '{"b":2}')),
        got("c2", "two"),
    ),
    one(
        "arguments that are not JSON",
        [*call("c1", '{"half'), result("c1")],
        called("c1", a_call("c1", '{"half')),
        got("c1"),
    ),
    one(
        "a result before the end of its call",
        [*call("c1", "{}", end=False), result("c1"), emit("TOOL_CALL_END", toolCallId="c1")],
        called("c1", a_call("c1", "{}")),
        got("c1"),
    ),
    one(
        "a call in the middle of a text",
        [
            *text("m1", "I look", end=False),
            *call("c1", "{}", parentMessageId="m1"),
            result("c1"),
            *more("m1", " and see."),
            emit("TEXT_MESSAGE_END", messageId="m1"),
        ],
        assistant("m1", "I look and see.", toolCalls=[a_call("c1", "{}")]),
        got("c1"),
    ),
]

REASONING = [
    one("reasoning", thought("r1", "h", "m"), mused("r1", "hm")),
    one("reasoning without a span", thought("r1", "hm", span=False), mused("r1", "hm")),
    one(
        "reasoning beside text",
        [
            *thought("r1", "if", end=False),
            *text("m1", "So", end=False),
            emit("REASONING_MESSAGE_CONTENT", messageId="r1", delta=" then"),
            *more("m1", " be it"),
            emit("REASONING_MESSAGE_END", messageId="r1"),
            emit("TEXT_MESSAGE_END", messageId="m1"),
            emit("REASONING_END", messageId="r1-span"),
        ],
        mused("r1", "if then"),
        assistant("m1", "So be it"),
    ),
    one(
        "reasoning with secrets",
        [
            *thought("r1", "hm"),
            *call("c1", "{}"),
            result("c1"),
            emit(
                "REASONING_ENCRYPTED_VALUE", subtype="message", entityId="r1", encryptedValue="ab=="
            ),
            emit(
                "REASONING_ENCRYPTED_VALUE",
                subtype="tool-call",
                entityId="c1",
                encryptedValue="cd==",
            ),
        ],
        mused("r1", "hm", encryptedValue="ab=="),
        called("c1", a_call("c1", "{}", encryptedValue="cd==")),
        got("c1"),
    ),
]


def more_of(name: str, *operations: Wire) -> Wire:
    """A change of an activity."""
    return emit("ACTIVITY_DELTA", messageId=name, activityType="PLAN", patch=list(operations))


ACTIVITIES = [
    one(
        "an activity",
        [activity("a1", {"done": 0}), more_of("a1", {**add("/done", 1), "op": "replace"})],
        doing("a1", {"done": 1}),
    ),
    one(
        "an activity that is replaced",
        [activity("a1", {"done": 0}), activity("a1", {"all": True})],
        doing("a1", {"all": True}),
    ),
    one(
        "an activity that is kept",
        [activity("a1", {"done": 0}), activity("a1", {"all": True}, replace=False)],
        doing("a1", {"done": 0}),
    ),
    one(
        "activities beside text",
        [
            *text("m1", "I ", end=False),
            activity("a1", {"list": []}),
            *more("m1", "plan"),
            more_of("a1", add("/list/-", None), add("/list/-", "x")),
            emit("TEXT_MESSAGE_END", messageId="m1"),
        ],
        assistant("m1", "I plan"),
        doing("a1", {"list": [None, "x"]}),
    ),
]

STEPS = [
    one("a step", step("look", *text("m1", "seen")), assistant("m1", "seen")),
    one("a step in a step", step("look", *step("see", *text("m1", "x"))), assistant("m1", "x")),
    one("a step twice", [*step("look"), *step("look", *text("m1", "x"))], assistant("m1", "x")),
    one(
        "steps that overlap",
        [
            *step("a", end=False),
            *step("b", end=False),
            *step("c", *text("m1", "x")),
            emit("STEP_FINISHED", stepName="a"),
            emit("STEP_FINISHED", stepName="b"),
        ],
        assistant("m1", "x"),
    ),
]

STATE = [
    one("a state", [emit("STATE_SNAPSHOT", snapshot={"n": None})], state={"n": None}),
    one(
        "a state in small steps",
        [
            emit("STATE_SNAPSHOT", snapshot={"list": [1], "a/b~c": 0}),
            patch(add("/list/-", 2), add("/list/0", None)),
            patch({"op": "move", "from": "/a~1b~0c", "path": "/moved"}),
            patch({"op": "test", "path": "/moved", "value": 0}, {"op": "remove", "path": "/moved"}),
        ],
        state={"list": [None, 1, 2]},
    ),
    one("a state without a snapshot", [patch(add("/n", 1))], state={"n": 1}),
    one("a state that is a list", [emit("STATE_SNAPSHOT", snapshot=[1])], state=[1]),
    Scenario(
        "a state from the client",
        [Turn([patch(add("/theirs", 2))], state={"mine": 1})],
        [go()],
        state={"mine": 1, "theirs": 2},
    ),
    Scenario(
        "a state over two runs",
        [Turn([emit("STATE_SNAPSHOT", snapshot={"n": 1})]), Turn([patch(add("/m", 2))])],
        [go(), go(2)],
        state={"n": 1, "m": 2},
    ),
]

OWN = [
    one(
        "events of the agent's own",
        [
            emit("CUSTOM", name="acme.note", value={"any": None}),
            emit("CUSTOM", name="acme.nothing", value=None),
            emit("RAW", event={"provider": [1.5, None]}, source="acme"),
            *text("m1", "x"),
        ],
        assistant("m1", "x"),
    ),
    one("nothing at all", []),
    one("a result", [{"result": {"answer": 42}}, *text("m1", "x")], assistant("m1", "x")),
]

SCENARIOS = [*TEXT, *TOOLS, *REASONING, *ACTIVITIES, *STEPS, *STATE, *OWN]
