"""What a scenario is: turns on one thread, what happens meanwhile, and what clients then hold."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Wire = dict[str, Any]
CLIENTS = {"1": "@ag-ui/client", "0": "ag-ui-client-0"}
"""The stock clients by the generation of AG-UI that they speak."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of the reader; ``at`` has what happens at the gates of the script.

    ``ends``: ``success``, ``interrupt``, ``cancelled``, or the code of a RUN_ERROR after "error ".
    ``pending``: the calls that wait for the application. ``answer`` goes to every open question,
    ``keep`` cuts the client's messages before it sends, ``props`` are more forwardedProps,
    ``fresh`` makes a new client that holds nothing, ``joined`` counts the readers that come
    meanwhile.
    """

    script: Sequence[Wire] = ()
    ends: str = "success"
    pending: Sequence[str] = ()
    says: Sequence[Wire] | None = None
    agent: str = "scripted"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    at: Mapping[str, Sequence[str | Wire]] = field(default_factory=dict)
    answer: Wire | None = None
    keep: int | None = None
    props: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None
    fresh: bool = False
    reader: str = "http"


@dataclass(frozen=True, slots=True)
class Older:
    """What the client of AG-UI 0.x sees otherwise, and why.

    ``stopped`` is how a run ends that somebody cancelled, ``replays`` the complaint about a raw
    log, which stays what it is whoever reads it.
    """

    why: str
    stopped: str = "cancelled"
    replays: str | None = None


WAITING = Older(
    why="0.x refuses an outcome that lists `pendingToolCallIds`, and finds those calls itself: the "
    "host leaves the list out. A raw log read by GET stays 1.0.",
    replays="pendingToolCallIds",
)

STOPPED = Older(
    why="0.x has no outcome `cancelled`: the host tells such a client RUN_ERROR with the code "
    "that it gives to a stop of its own. A raw log read by GET stays 1.0.",
    stopped="error abort",
    replays="Expected 'success' | 'interrupt'",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """``messages``, ``state`` and ``interrupts`` are what every reader holds in the end.

    ``reads`` are the messages of the client that started the runs, where it holds less.
    ``newer`` says why the client of AG-UI 0.x does not play this.
    ``replays`` is False where raw logs one after the other are not the thread: a regenerate.
    """

    name: str
    turns: Sequence[Turn]
    messages: Sequence[Wire]
    state: Any = field(default_factory=dict)
    interrupts: Sequence[str] = ()
    older: Older | None = None
    replays: bool = True
    reads: Sequence[Wire] | None = None
    newer: str = ""

    def plan(self, client: str, gates: str) -> Wire:
        """The scenario as ``js/scenario.mjs`` plays it with this client."""
        thread = f"{self.name} / {client}"
        # A GET names no version, so what it answers is 1.0: the one form this client refuses.
        left_out = {"get"} if client == "0" and self.older else set()
        here = f"{gates}/{re.sub(r'[^a-z0-9]+', '-', thread.lower())}"
        return {
            "name": self.name,
            "client": CLIENTS[client],
            "thread": thread,
            "gates": here,
            "turns": [_turn(turn, index, here, left_out) for index, turn in enumerate(self.turns)],
        }


def _turn(turn: Turn, index: int, gates: str, left_out: set[str]) -> Wire:
    says = turn.says
    if says is None:
        says = [] if turn.answer or turn.keep else [go(index + 1)]
    plan = {
        "agent": turn.agent,
        "says": list(says),
        "parameters": {
            "forwardedProps": {"script": [_op(op, gates) for op in turn.script], **turn.props},
            **turn.parameters,
        },
        "at": {
            gate: [_action(one, gates) for one in doing if str(one) not in left_out]
            for gate, doing in turn.at.items()
        },
        "reader": turn.reader,
        "fresh": turn.fresh,
    }
    for name in ("answer", "keep", "state"):
        if getattr(turn, name) is not None:
            plan[name] = getattr(turn, name)
    return plan


def _op(op: Wire, gates: str) -> Wire:
    return {"until": f"{gates}-{op['gate']}"} if "gate" in op else op


def _action(action: str | Wire, gates: str) -> Wire:
    if isinstance(action, str):
        return {"do": action}
    if "parameters" not in action:
        return action
    script = action["parameters"]["forwardedProps"]["script"]
    played = {"forwardedProps": {"script": [_op(op, gates) for op in script]}}
    return {**action, "parameters": {**action["parameters"], **played}}


def go(number: int = 1) -> Wire:
    """What the user says in a turn that names nothing else."""
    return {"id": f"u{number}", "role": "user", "content": "go"}
