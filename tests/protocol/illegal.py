"""Legal beginnings and one event that must not come next, for every rule.

``BREAKERS`` maps each rule to functions that put the stream into a state where the rule matters
and return the event that breaks it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.protocol.legal import KINDS, Event
from tests.protocol.logs import Log

RUN = {"threadId": "thread"}


class Illegal(NamedTuple):
    """``events[at]`` is the first that must not be there."""

    events: list[Event]
    at: int


def _continuation(log: Log, kind: str) -> Event:
    """A delta or an END of what was never opened."""
    _, content, end, key = KINDS[kind]
    type = log.pick([content, end]) if content else end
    return {"type": type, key: "never-opened", **({"delta": "?"} if type == content else {})}


def _again(log: Log, kind: str) -> Event:
    """A START of what is open."""
    log._open(kind, log.fresh(kind), log.lane())
    return dict(log.events[-1])


def _foreign(log: Log, kind: str) -> Event:
    """A delta or END in another's name."""
    log._open(kind, log.fresh(kind), log.pick([None, "sub-1"]))
    _, content, end, key = KINDS[kind]
    type = content or end
    delta = {"delta": "?"} if type == content else {}
    part = log.events[-1][key]
    return {"type": type, key: part, **delta, "subagentRunId": "another"}


def _both(kind: str) -> list[Callable[[Log], Event]]:
    return [lambda log: _continuation(log, kind), lambda log: _again(log, kind)]


def _after_the_end(log: Log) -> Event:
    log.finish()
    kinds = ["CUSTOM", "RUN_FINISHED"]
    kind = log.pick(kinds)
    fields = {**RUN, "runId": "run"} if kind == "RUN_FINISHED" else {"name": "acme", "value": 1}
    return {"type": kind, **fields}


def _double_step(log: Log) -> Event:
    event = {"type": "STEP_STARTED", "stepName": "twice"}
    log.events.append(event)
    return dict(event)


def _foreign_step(log: Log) -> Event:
    log.events.append({"type": "STEP_STARTED", "stepName": "mine", "subagentRunId": "sub-1"})
    return {"type": "STEP_FINISHED", "stepName": "mine"}


def _too_early(log: Log) -> Event:
    opens: list[Callable[[], None]] = [log.start, log.subagent]
    while not (log.open or log.active):
        log.pick(opens)()
    return {"type": "RUN_FINISHED", **RUN, "runId": f"run-{log.run}"}


def _subagent(log: Log) -> Event:
    name = log.fresh("delegate")
    start = {"type": "SUBAGENT_STARTED", "subagentRunId": name, "name": "helper"}
    end = {"type": "SUBAGENT_FINISHED", "subagentRunId": name}
    log.events.append(start)
    how = log.pick(["active", "reused", "orphan", "twice", "unknown"])
    if how in ("reused", "twice"):
        log.events.append(end)
    return {
        "active": start,
        "reused": start,
        "orphan": start | {"subagentRunId": "new", "parentSubagentRunId": "nobody"},
        "twice": end,
        "unknown": {"type": "SUBAGENT_ERROR", "subagentRunId": "nobody", "message": "?"},
    }[how]


def _wrong_parent(log: Log) -> Event:
    log._open("text", "the-parent", "sub-1")
    return {
        "type": "TOOL_CALL_START",
        "toolCallId": "stray",
        "toolCallName": "search",
        "parentMessageId": "the-parent",
        "subagentRunId": "sub-2",
    }


def _foreign_delta(log: Log) -> Event:
    fields = {"messageId": "plan", "activityType": "PLAN"}
    log.events.append({"type": "ACTIVITY_SNAPSHOT", **fields, "content": {}})
    return {"type": "ACTIVITY_DELTA", **fields, "patch": [], "subagentRunId": "sub-1"}


def _foreign_secret(log: Log) -> Event:
    kind = log.pick(["text", "call", "thought"])
    part = log.fresh(kind)
    log._open(kind, part, "sub-1")
    fields = {"entityId": part, "subtype": "tool-call" if kind == "call" else "message"}
    fields["encryptedValue"] = "sealed"
    return {"type": "REASONING_ENCRYPTED_VALUE", **fields, "subagentRunId": "sub-2"}


def _null_tag(log: Log) -> Event:
    message = {"id": "m", "role": "user", "content": "", "subagentRunId": None}
    return log.pick(
        [
            {"type": "CUSTOM", "name": "acme", "value": 1, "subagentRunId": None},
            {"type": "STEP_STARTED", "stepName": "new", "subagentRunId": None},
            {"type": "MESSAGES_SNAPSHOT", "messages": [message]},
        ]
    )


def _bare_chunk(log: Log) -> Event:
    log.events.append({"type": "CUSTOM", "name": "acme.break", "value": 1})
    for lane in list(log.lanes):
        log.say("CUSTOM", lane, name="acme.break", value=1)
    return {"type": log.pick(["TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK"]), "delta": "?"}


def _other_role(log: Log) -> Event:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "settled", "delta": "?"}
    log.events.append(chunk)
    return chunk | {"role": "user"}


def _other_run(log: Log) -> Event:
    log.close_all()
    return {"type": "RUN_FINISHED", "threadId": "thread", "runId": "not this one"}


def _same_interrupt(log: Log) -> Event:
    log.close_all()
    asks = [{"id": "ask", "reason": "confirmation"}] * 2
    outcome = {"type": "interrupt", "interrupts": asks}
    return {"type": "RUN_FINISHED", **RUN, "runId": f"run-{log.run}", "outcome": outcome}


def _late_error(log: Log) -> Event:
    log.close_all()
    log.events.append({"type": "RUN_FINISHED", **RUN, "runId": f"run-{log.run}"})
    return {"type": "RUN_ERROR", "message": "too late"}


BREAKERS: dict[str, list[Callable[[Log], Event]]] = {
    "V1": [lambda log: {"type": "CUSTOM", "name": "acme", "value": 1}],
    "V2": [lambda log: {"type": "RUN_STARTED", **RUN, "runId": "another"}],
    "V3": [_after_the_end],
    "V4": _both("text"),
    "V5": _both("call"),
    "V6": _both("thought") + _both("span"),
    "V7": [_double_step, _foreign_step],
    "V8": [_too_early],
    "V9": [_subagent],
    "V10": [lambda log: _foreign(log, log.pick(KINDS))],
    "V11": [_wrong_parent],
    "V12": [_foreign_delta, _foreign_secret],
    "V13": [_null_tag],
    "chunks": [_bare_chunk, _other_role],
    "ids": [_other_run],
    "interrupts": [_same_interrupt],
    "late error": [_late_error],
}

OURS_ALONE = ("ids", "interrupts", "late error")
"""Where the host is stricter than the client of today (AGUI 1.0 asks for it)."""


@st.composite
def illegal(draw: Callable[..., Any], rule: str, *, size: int = 12) -> Illegal:
    """A sequence that is legal up to one event, which breaks ``rule``, and goes on behind it."""
    log = Log(draw)
    if rule != "V1":
        log.begin()
        for _ in range(draw(st.integers(0, size))):
            log.pick(log.moves)()
    bad = draw(st.sampled_from(BREAKERS[rule]))(log)
    at = len(log.events)
    behind = {"type": "CUSTOM", "name": "acme.behind", "value": 1}
    return Illegal([*log.events, bad, behind], at)
