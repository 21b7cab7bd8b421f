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
    ``keep`` cuts the client's messages before it sends, ``fresh`` makes a new client that holds
    nothing, ``joined`` counts the readers that come meanwhile.
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
    state: Any = None
    fresh: bool = False
    reader: str = "http"


@dataclass(frozen=True, slots=True)
class Older:
    """What the client of AG-UI 0.x sees otherwise, and why."""

    why: str
    ends: str | None = None
    pending: Sequence[str] | None = None
    messages: Sequence[Wire] | None = None
    interrupts: Sequence[str] | None = None
    replays: str | None = None
    said: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """``messages``, ``state`` and ``interrupts`` are what every reader holds in the end.

    ``replays`` is False where raw logs one after the other are not the thread: a regenerate.
    """

    name: str
    turns: Sequence[Turn]
    messages: Sequence[Wire]
    state: Any = field(default_factory=dict)
    interrupts: Sequence[str] = ()
    older: Older | None = None
    replays: bool = True

    def plan(self, client: str, gates: str) -> Wire:
        """The scenario as ``js/scenario.mjs`` plays it with this client."""
        thread = f"{self.name} / {client}"
        here = f"{gates}/{re.sub(r'[^a-z0-9]+', '-', thread.lower())}"
        return {
            "name": self.name,
            "client": CLIENTS[client],
            "thread": thread,
            "gates": here,
            "turns": [_turn(turn, index, here) for index, turn in enumerate(self.turns)],
        }


def _turn(turn: Turn, index: int, gates: str) -> Wire:
    says = turn.says
    if says is None:
        says = [] if turn.answer or turn.keep else [go(index + 1)]
    plan = {
        "agent": turn.agent,
        "says": list(says),
        "parameters": {
            "forwardedProps": {"script": [_op(op, gates) for op in turn.script]},
            **turn.parameters,
        },
        "at": {gate: [_action(one, gates) for one in doing] for gate, doing in turn.at.items()},
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
