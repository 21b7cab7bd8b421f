"""Several runs on one thread: what follows what, what they add up to, what is told anew."""

from tests.conformance.scenarios.endings import ASKED, ASKING, YES
from tests.conformance.scenarios.parts import (
    a_call,
    activity,
    assistant,
    call,
    called,
    doing,
    emit,
    gate,
    got,
    more,
    result,
    text,
)
from tests.conformance.scenarios.plan import STOPPED, Scenario, Turn, Wire, go

SECOND: Wire = {
    "do": "enqueue",
    "agent": "scripted",
    "says": [go(2)],
    "parameters": {"forwardedProps": {"script": text("m2", "second")}},
}
FAILS = Turn([*text("m1", "I was", end=False), {"raise": "secret"}], ends="error agent_error")
STOPS = Turn(
    [*text("m1", "I was", end=False), *gate(), {"forever": True}],
    ends="cancelled",
    at={"gate": ["cancel"]},
)

SEVERAL = [
    Scenario(
        "three runs",
        [Turn(text(f"m{n}", f"answer {n}")) for n in (1, 2, 3)],
        [
            go(1),
            assistant("m1", "answer 1"),
            go(2),
            assistant("m2", "answer 2"),
            go(3),
            assistant("m3", "answer 3"),
        ],
    ),
    Scenario(
        "an id that the next run uses again",
        [Turn(text("m1", "one")), Turn(text("m1", "two"))],
        [go(), assistant("m1", "one"), go(2), assistant("m1~run-2", "two")],
    ),
    Scenario(
        "a call whose result comes in the next run",
        [
            Turn([*call("c1", "{}"), result("c1", "early")]),
            Turn([*call("c2", "{}"), result("c2"), activity("a1", {"n": 1})]),
        ],
        [
            go(),
            called("c1", a_call("c1", "{}")),
            got("c1", "early"),
            go(2),
            called("c2", a_call("c2", "{}")),
            got("c2"),
            doing("a1", {"n": 1}),
        ],
    ),
    Scenario(
        "two runs of two agents",
        [Turn(text("m1", "one")), Turn(text("m2", "two"), agent="strict")],
        [go(), assistant("m1", "one"), go(2), assistant("m2", "two")],
    ),
    Scenario(
        "a client that sends only what is new",
        [Turn(text("m1", "one")), Turn(text("m2", "two"), fresh=True, says=[go(2)])],
        [go(), assistant("m1", "one"), go(2), assistant("m2", "two")],
        reads=[go(2), assistant("m2", "two")],
    ),
    Scenario(
        "a run that waits for its turn",
        [
            Turn(
                [*text("m1", "fir", end=False), *gate(), *more("m1", "st")],
                at={"gate": [SECOND, "connect", "reconnect"]},
            )
        ],
        [go(), assistant("m1", "first"), go(2), assistant("m2", "second")],
        reads=[go(), assistant("m1", "first")],
    ),
]

AFTER = [
    Scenario("a failure", [FAILS], [go(), assistant("m1", "I was")]),
    Scenario(
        "a run after a failure",
        [FAILS, Turn(text("m2", "Now."))],
        [go(), assistant("m1", "I was"), go(2), assistant("m2", "Now.")],
    ),
    Scenario(
        "a run after a cancel",
        [STOPS, Turn(text("m2", "Now."))],
        [go(), assistant("m1", "I was"), go(2), assistant("m2", "Now.")],
        older=STOPPED,
    ),
    Scenario(
        "a run after an answer",
        [
            Turn(ASKING, ends="interrupt"),
            Turn([result("c1", "done")], answer=YES),
            Turn(text("m3", "What else?")),
        ],
        [go(), ASKED, got("c1", "done"), go(3), assistant("m3", "What else?")],
    ),
    Scenario(
        "a question behind a failure",
        [
            Turn(ASKING, ends="interrupt"),
            Turn(
                [*text("m2", "I tr", end=False), {"raise": "secret"}],
                answer=YES,
                ends="error agent_error",
            ),
        ],
        [go(), ASKED, assistant("m2", "I tr")],
        interrupts=["q1"],
    ),
]

AGAIN = [
    Scenario(
        "an answer that is told anew",
        [Turn(text("m1", "worse")), Turn(text("m2", "better"), keep=1)],
        [go(), assistant("m2", "better")],
        replays=False,
    ),
    Scenario(
        "the last answer told anew",
        [
            Turn([*call("c1", "{}"), result("c1"), *text("m1", "one")]),
            Turn([emit("STATE_SNAPSHOT", snapshot={"n": 1}), *text("m2", "worse")]),
            Turn(text("m3", "better"), keep=5),
        ],
        [
            go(),
            called("c1", a_call("c1", "{}")),
            got("c1"),
            assistant("m1", "one"),
            go(2),
            assistant("m3", "better"),
        ],
        state={"n": 1},
        replays=False,
    ),
    Scenario(
        "a question that is put anew",
        [
            Turn(text("m1", "one")),
            Turn(text("m2", "two")),
            Turn(text("m3", "three"), keep=2, says=[go(3)], props={"regenerate": True}),
            Turn(text("m4", "four")),
        ],
        [
            go(),
            assistant("m1", "one"),
            go(3),
            assistant("m3", "three"),
            go(4),
            assistant("m4", "four"),
        ],
        replays=False,
    ),
    Scenario(
        "an old tab that has not seen the newest turn",
        [
            Turn(text("m1", "one")),
            Turn(text("m2", "two")),
            Turn(text("m3", "three"), keep=2, says=[go(3)]),
        ],
        [
            go(),
            assistant("m1", "one"),
            go(2),
            assistant("m2", "two"),
            go(3),
            assistant("m3", "three"),
        ],
        reads=[go(), assistant("m1", "one"), go(3), assistant("m3", "three")],
    ),
    Scenario(
        "a late reader of an answer told anew",
        [
            Turn(text("m1", "worse")),
            Turn(
                [*text("m2", "bet", end=False), *gate(), *more("m2", "ter")],
                keep=1,
                at={"gate": ["connect", "reconnect", "get", "repeat"]},
            ),
        ],
        [go(), assistant("m2", "better")],
        replays=False,
    ),
]

RESTATED = [
    Scenario(
        "messages that are restated",
        [
            Turn(text("m1", "one")),
            Turn(
                [
                    *text("m2", "two"),
                    emit(
                        "MESSAGES_SNAPSHOT",
                        messages=[assistant("m1", "ONE"), go(2), assistant("m2", "TWO")],
                    ),
                ]
            ),
        ],
        [assistant("m1", "ONE"), go(2), assistant("m2", "TWO")],
    ),
]

SCENARIOS = [*SEVERAL, *AFTER, *AGAIN, *RESTATED]
