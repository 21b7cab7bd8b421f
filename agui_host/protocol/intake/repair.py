"""Repair: what takes the place of an event that breaks a rule, where the meaning is clear.

| rule | event | in its place | action |
| --- | --- | --- | --- |
| V4 V5 V6 | a delta of something that is not open | its START, then the delta | inserted_start |
| V4 V5 V6 | START of something open, END of something not open | nothing | dropped |
| V7 | STEP_STARTED of an open step, STEP_FINISHED of an unknown one | nothing | dropped |
| V8 | RUN_FINISHED while something is open | what closes it, then RUN_FINISHED | closed |
| V9 | SUBAGENT_STARTED of an active one, an end of an inactive one | nothing | dropped |
| patch | ``replace`` of a missing member | the same patch with ``add`` | translated |
| patch | STATE_DELTA that does not apply | STATE_SNAPSHOT of the state as it is | restated |
| patch | ACTIVITY_DELTA that does not apply | nothing | dropped |

Everything else contradicts itself (two owners, an id used twice) or lacks data that only the agent
has, and a guess would tell readers something that never happened.
"""

from typing import Any, NamedTuple

from agui_host.protocol.encoding import DELTA_IDS
from agui_host.protocol.intake.endings import subagent_ending
from agui_host.protocol.intake.replicas import Replicas
from agui_host.protocol.intake.verifier import Verifier
from agui_host.protocol.violation import Event, Violation

UNKNOWN_TOOL = "unknown"
"""The tool name for a call that was never started."""

_STARTS = {
    "TEXT_MESSAGE_CONTENT": {"type": "TEXT_MESSAGE_START", "role": "assistant"},
    "TOOL_CALL_ARGS": {"type": "TOOL_CALL_START", "toolCallName": UNKNOWN_TOOL},
    "REASONING_MESSAGE_CONTENT": {"type": "REASONING_MESSAGE_START", "role": "reasoning"},
}
_ORDER = frozenset({"V4", "V5", "V6", "V7"})


class Fix(NamedTuple):
    """The events stored instead of a bad one, and the name of the repair in a finding."""

    action: str
    events: list[dict[str, Any]]


DROP = Fix("dropped", [])


def mend(
    verifier: Verifier, replicas: Replicas, violation: Violation, event: dict[str, Any]
) -> Fix | None:
    """The fix for ``event``, which the verifier refused; None if there is none.

    ``verifier`` and ``replicas`` are in the state before the event.
    """
    kind = event["type"]
    if violation.rule in _ORDER:
        return Fix("inserted_start", [_start(verifier, event), event]) if kind in _STARTS else DROP
    match violation.rule, kind:
        case "V8", _:
            ends = verifier.parts.closings(subagent_ending(event.get("outcome")))
            return Fix("closed", [*ends, event])
        case "V9", "SUBAGENT_STARTED" if verifier.parts.is_active(event["subagentRunId"]):
            return DROP
        case "V9", "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
            return DROP
        case "patch", _ if complete := replicas.completed(event):
            return Fix("translated", complete)
        case "patch", "STATE_DELTA" if (state := replicas.restated()) is not None:
            return Fix("restated", [state])
        case "patch", _:
            return DROP
    return None


def _start(verifier: Verifier, event: Event) -> dict[str, Any]:
    """The missing START of ``event``: of the same owner, and of the same call if it had one."""
    kind = event["type"]
    key = DELTA_IDS[kind]
    known = verifier.calls.get(event[key]) if kind == "TOOL_CALL_ARGS" else None
    if known is not None:
        return {name: known[name] for name in _REOPENING if name in known}
    tag = {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}
    return {**_STARTS[kind], key: event[key], **tag}


_REOPENING = ("type", "toolCallId", "toolCallName", "parentMessageId", "subagentRunId")
