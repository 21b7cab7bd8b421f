"""Reads requests to Alpine from inputs, and Alpine's questions from interrupts."""

from collections.abc import Mapping
from typing import Any

KEY = "alpine"
"""The member of ``forwardedProps`` that holds a request to Alpine: task, planMode, worktreeDir."""

_SAID = ("message", "toolCallId", "responseSchema", "expiresAt")
_WORDS = {
    "plan": "plan_modification_request",
    "feedback": "feedback_request",
    "review": "feedback_request",
    "approv": "approval_request",
    "confirm": "approval_request",
    "permission": "approval_request",
}


def task_of(run_input: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Task, plan mode and working directory of a RunAgentInput, which any client may have sent."""
    props = run_input.get("forwardedProps")
    request = props.get(KEY) if isinstance(props, Mapping) else None
    request = request if isinstance(request, Mapping) else {}
    task, worktree = request.get("task"), request.get("worktreeDir")
    return (
        task if isinstance(task, str) and task else _last_words(run_input.get("messages") or ()),
        request.get("planMode") is True,
        worktree if isinstance(worktree, str) else "",
    )


def _last_words(messages: Any) -> str:
    for message in reversed(messages):
        if message["role"] == "user":
            content = message["content"]
            if isinstance(content, str):
                return content
            return "\n".join(part["text"] for part in content if part["type"] == "text")
    return ""


def what_is_asked(interrupt: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The Alpine event name for an interrupt, chosen by its reason, and the event's members."""
    reason = interrupt["reason"]
    members = {key: interrupt[key] for key in _SAID if interrupt.get(key) is not None}
    named = next((name for word, name in _WORDS.items() if word in reason.lower()), None)
    if named is None:
        named = "approval_request" if "toolCallId" in members else "input_request"
    return named, {"requestId": interrupt["id"], "reason": reason, **members}
