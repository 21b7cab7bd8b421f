"""The events of Alpine's dialect as a table: the members of each, and their types.

``!`` marks a member that must be present and not empty, ``?`` an optional member.
"""

from collections.abc import Mapping
from typing import Any

SCHEMA_VERSION = "1.0"
EXTENSIONS = ("tool_calls", "human_in_the_loop", "multi_agent", "custom")
"""The events that a client has to request; it gets all others in any case."""

Frame = Mapping[str, Any]
_KINDS: dict[str, type | tuple[type, ...]] = {
    "text": str, "count": int, "bool": bool, "object": dict, "list": list, "any": object,
}  # fmt: skip
_BASE = "runId!text timestamp!text"
_ERROR = "error!object error.message=text error.code?text"
_ASKED = (
    "requestId!text reason!text message?text toolCallId?text responseSchema?object expiresAt?text"
)

_CORE = {
    "run_started": "metadata!object metadata.task=text metadata.worktreeDir?text "
    "metadata.planMode=bool",
    "run_finished": "result!object result.status!text result.stepCount=count result.duration!text",
    "run_error": f"{_ERROR} error.step?count",
    "step_started": "stepId!text description=text stepNumber=count",
    "step_finished": "stepId!text status!text duration!text",
    "text_message_start": "messageId!text source!text",
    "text_message_content": "messageId!text content=text delta=bool",
    "text_message_end": "messageId!text complete=bool",
    "state_snapshot": "state!object state.status=text state.currentStep=count "
    "state.stepDescription=text state.nextStepPrompt=text state.workingDirectory=text",
    "state_delta": "delta!list",
}
_EXTENDED = {
    "tool_calls": {
        "tool_call_start": "toolCallId!text toolName=text",
        "tool_call_args": "toolCallId!text content=text delta=bool",
        "tool_call_end": "toolCallId!text",
        "tool_call_result": "toolCallId!text messageId!text content=text",
    },
    "human_in_the_loop": dict.fromkeys(
        ("approval_request", "input_request", "feedback_request", "plan_modification_request"),
        _ASKED,
    )
    | dict.fromkeys(("feedback", "plan_modification"), "value=any"),
    "multi_agent": {
        "agent_started": "agentId!text name=text description?text parentAgentId?text",
        "agent_finished": "agentId!text status!text",
        "agent_error": f"agentId!text {_ERROR}",
        "agent_message": "value=any",
        "resource": "value=any",
    },
    "custom": {"custom": "name=text value=any"},
}
EXTENSION_OF = {name: ext for ext, frames in _EXTENDED.items() for name in frames}
"""The extension that an event belongs to; core events are not listed."""

_ONE_OF = {
    ("run_finished", "status"): {"completed", "interrupted"},
    ("step_finished", "status"): {"completed", "failed"},
    ("text_message_start", "source"): {"claude", "alpine"},
    ("agent_finished", "status"): {"completed", "suspended"},
}


def _rules(members: str) -> list[tuple[list[str], str, Any]]:
    rules = []
    for member in f"{_BASE} {members}".split():
        mark = next(mark for mark in "!?=" if mark in member)
        path, kind = member.split(mark)
        rules.append((path.split("."), mark, (kind, _KINDS[kind])))
    return rules


_SHAPES = {
    name: _rules(members)
    for frames in (_CORE, *_EXTENDED.values())
    for name, members in frames.items()
}
NAMES = tuple(_SHAPES)


def problem(frame: Frame) -> str | None:
    """The reason why a frame is invalid; None if it is valid."""
    name = frame.get("type")
    if name not in _SHAPES:
        return f"invalid event type: {name}"
    for path, mark, (kind, cls) in _SHAPES[name]:
        value, missing = _at(frame, path)
        where = ".".join(path)
        if missing:
            if mark != "?":
                return f"{name}: {where} is required"
            continue
        if not isinstance(value, cls) or (kind == "count" and isinstance(value, bool)):
            return f"{name}: {where} is not {kind}"
        if mark == "!" and value in ("", {}, []):
            return f"{name}: {where} is required"
        allowed = _ONE_OF.get((name, path[-1]))
        if allowed and value not in allowed:
            return f"{name}: {where} is not one of {', '.join(sorted(allowed))}"
    return None


def _at(frame: Frame, path: list[str]) -> tuple[Any, bool]:
    value: Any = frame
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return None, True
        value = value[key]
    return value, False
