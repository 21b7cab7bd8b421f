"""How runs end: with calls for the application, questions, a stop, a failure."""

from unittest.mock import ANY

from tests.conformance.scenarios.parts import (
    Json,
    a_call,
    assistant,
    call,
    called,
    emit,
    gate,
    got,
    mused,
    result,
    step,
    subagent,
    text,
    thought,
)
from tests.conformance.scenarios.plan import STOPPED, WAITING, Scenario, Turn, Wire, go

PICK = {
    "name": "pick",
    "description": "Lets the user pick.",
    "parameters": {"type": "object", "properties": {"of": {"type": "array"}}},
}
TOOLS = {"tools": [PICK]}


def picked(name: str, content: str = "red") -> Wire:
    """The application's answer to a call."""
    return {"id": f"{name}-answer", "role": "tool", "toolCallId": name, "content": content}


FRONTEND_TOOLS = [
    Scenario(
        "a call for the application",
        [Turn(call("c1", "{}", tool="pick"), pending=["c1"], parameters=TOOLS)],
        [go(), called("c1", a_call("c1", "{}", tool="pick"))],
        older=WAITING,
    ),
    Scenario(
        "a call that the application answers",
        [
            Turn(call("c1", "{}", tool="pick"), pending=["c1"], parameters=TOOLS),
            Turn(text("m1", "Red it is."), says=[picked("c1")], parameters=TOOLS),
        ],
        [
            go(),
            called("c1", a_call("c1", "{}", tool="pick")),
            picked("c1"),
            assistant("m1", "Red it is."),
        ],
        older=WAITING,
    ),
    Scenario(
        "two calls, one for the application",
        [
            Turn(
                [*call("c1", "{}"), *call("c2", "{}", tool="pick"), result("c1")],
                pending=["c2"],
                parameters=TOOLS,
            ),
            Turn(text("m1", "Done."), says=[picked("c2")], parameters=TOOLS),
        ],
        [
            go(),
            called("c1", a_call("c1", "{}")),
            got("c1"),
            called("c2", a_call("c2", "{}", tool="pick")),
            picked("c2"),
            assistant("m1", "Done."),
        ],
        older=WAITING,
    ),
    Scenario(
        "two calls for the application, left open",
        [
            Turn(
                [
                    *call("c1", "{}", tool="pick", end=False),
                    *call("c2", "{}", tool="pick", end=False),
                ],
                pending=["c1", "c2"],
                parameters=TOOLS,
            ),
            Turn(text("m1", "Done."), says=[picked("c1"), picked("c2", "blue")], parameters=TOOLS),
        ],
        [
            go(),
            called("c1", a_call("c1", "{}", tool="pick")),
            called("c2", a_call("c2", "{}", tool="pick")),
            picked("c1"),
            picked("c2", "blue"),
            assistant("m1", "Done."),
        ],
        older=WAITING,
    ),
]

YES = {"status": "resolved", "payload": {"approved": True}}
NO = {"status": "resolved", "payload": {"approved": False}}
EDITED = {"status": "resolved", "payload": {"approved": True, "edited": "archive report.txt"}}
DELETE = [{"id": "u1", "role": "user", "content": "delete report.txt"}]


def approval(name: str, answer: Wire, says: str, done: Wire) -> Scenario:
    """The approval agent asks, and is told."""
    call_of = {
        "id": ANY,
        "type": "function",
        "function": {"name": "perform_action", "arguments": ANY},
    }
    acted = [{"toolCallId": ANY, **_action(done)}] if done["done"] else []
    return Scenario(
        name,
        [
            Turn(agent="approval", says=DELETE, ends="interrupt"),
            Turn(agent="approval", answer=answer),
        ],
        [
            *DELETE,
            assistant(ANY, "I would delete report.txt. May I?", toolCalls=[call_of]),
            {"id": ANY, "role": "tool", "toolCallId": ANY, "content": Json(done)},
            assistant(ANY, says),
        ],
        state={"ledger": acted, "pending": {}},
    )


def _action(done: Wire) -> Wire:
    return {name: done[name] for name in ("action", "target")}


ASKING = [
    *call("c1", "{}", tool="delete"),
    {"interrupt": {"reason": "tool_call", "message": "Do it?", "tool_call_id": "c1", "id": "q1"}},
]
ASKED = called("c1", a_call("c1", "{}", tool="delete"))
TWO = emit(
    "RUN_FINISHED",
    outcome={
        "type": "interrupt",
        "interrupts": [
            {"id": "q1", "reason": "acme:one", "responseSchema": {"type": "object"}},
            {"id": "q2", "reason": "acme:two", "expiresAt": "2999-01-01T00:00:00Z"},
        ],
    },
)

QUESTIONS = [
    approval(
        "approve",
        YES,
        "Done, in the ledger: delete report.txt.",
        {"done": True, "action": "delete", "target": "report.txt"},
    ),
    approval(
        "reject",
        NO,
        "I did not do it: delete report.txt.",
        {"done": False, "action": "delete", "target": "report.txt"},
    ),
    approval(
        "approve something else",
        EDITED,
        "Done, in the ledger: archive report.txt.",
        {"done": True, "action": "archive", "target": "report.txt"},
    ),
    approval(
        "do not answer",
        {"status": "cancelled"},
        "I did not do it: delete report.txt.",
        {"done": False, "action": "delete", "target": "report.txt"},
    ),
    Scenario(
        "a question that stands",
        [Turn(ASKING, ends="interrupt")],
        [go(), ASKED],
        interrupts=["q1"],
    ),
    Scenario(
        "two questions",
        [Turn([*text("m1", "Two things."), TWO], ends="interrupt")],
        [go(), assistant("m1", "Two things.")],
        interrupts=["q1", "q2"],
    ),
    Scenario(
        "two questions, answered",
        [
            Turn([*text("m1", "Two things."), TWO], ends="interrupt"),
            Turn(text("m2", "Thanks."), answer={"status": "resolved", "payload": {}}),
        ],
        [go(), assistant("m1", "Two things."), assistant("m2", "Thanks.")],
    ),
    Scenario(
        "a message instead of an answer",
        [
            Turn(ASKING, ends="interrupt"),
            Turn(text("m2", "must not be said"), ends="interrupt", fresh=True, says=[go(2)]),
            Turn([result("c1", "done")], answer=YES),
        ],
        [go(), ASKED, got("c1", "done"), go(2)],
        reads=[go(2), got("c1", "done")],
    ),
    Scenario(
        "an answer after a failure",
        [
            Turn(ASKING, ends="interrupt"),
            Turn([{"raise": "secret"}], answer=YES, ends="error agent_error"),
            Turn([result("c1", "done"), *text("m1", "Done.")], answer=YES),
        ],
        [go(), ASKED, got("c1", "done"), assistant("m1", "Done.")],
    ),
    Scenario(
        "a subagent that waits",
        [
            Turn(
                [
                    *subagent("s1", *text("m1", "May I?", subagentRunId="s1"), end=False),
                    {"interrupt": {"reason": "acme:ask", "id": "q1"}},
                ],
                ends="interrupt",
            ),
            Turn(text("m2", "I may."), answer={"status": "resolved"}),
        ],
        [go(), assistant("m1", "May I?", subagentRunId="s1"), assistant("m2", "I may.")],
    ),
]


def stopped(name: str, script: list[Wire], *messages: Wire, state: object = None) -> Scenario:
    """Somebody cancels while the agent waits."""
    turn = Turn([*script, *gate(), {"forever": True}], ends="cancelled", at={"gate": ["cancel"]})
    return Scenario(name, [turn], [go(), *messages], state=state or {}, older=STOPPED)


CANCEL = [
    stopped("cancel in a text", text("m1", "I was", end=False), assistant("m1", "I was")),
    stopped(
        "cancel in a call",
        call("c1", '{"half', end=False),
        called("c1", a_call("c1", '{"half')),
    ),
    stopped("cancel in a thought", thought("r1", "hm", end=False), mused("r1", "hm")),
    stopped(
        "cancel in a subagent's step",
        subagent(
            "s1",
            *step("dig", *text("m1", "di", end=False, subagentRunId="s1"), end=False),
            end=False,
        ),
        assistant("m1", "di", subagentRunId="s1"),
    ),
    stopped(
        "cancel with a state",
        [emit("STATE_SNAPSHOT", snapshot={"n": 1})],
        state={"n": 1},
    ),
]


def fails(name: str, script: list[Wire], *messages: Wire, code: str = "agent_error") -> Scenario:
    """The agent ends in an error."""
    return Scenario(name, [Turn(script, ends=f"error {code}")], [go(), *messages])


ERRORS = [
    fails("an agent that raises at once", [{"raise": "secret"}]),
    fails(
        "an agent that raises",
        [*text("m1", "before"), {"raise": "secret"}],
        assistant("m1", "before"),
    ),
    fails(
        "an agent that raises in a message",
        [*text("m1", "bef", end=False), {"raise": "secret"}],
        assistant("m1", "bef"),
    ),
    fails(
        "an agent that gives up",
        [*step("try", end=False), emit("RUN_ERROR", message="I cannot.", code="acme")],
        code="acme",
    ),
    fails("an agent that exits", [*text("m1", "x"), {"exit": 3}], assistant("m1", "x")),
]

SCENARIOS = [*FRONTEND_TOOLS, *QUESTIONS, *CANCEL, *ERRORS]
