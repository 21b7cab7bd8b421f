"""How a run ends: the events that close what it left open, and what a success lists."""

from collections.abc import Mapping
from typing import Any, Literal

from protocol.fold.open_parts import OpenParts
from protocol.intake.questions import with_messages


def finished(event: dict[str, Any], parts: OpenParts) -> dict[str, Any]:
    """A RUN_FINISHED whose success lists the calls that wait for the application.

    Readers who join late cannot count them. An interrupt gets the messages of its questions.
    """
    outcome = event.get("outcome", {"type": "success"})
    if outcome["type"] == "interrupt":
        return event | {"outcome": with_messages(outcome)}
    if outcome["type"] != "success":
        return event
    if pending := parts.pending_tool_calls():
        return event | {"outcome": {"type": "success", "pendingToolCallIds": pending}}
    return event | {"outcome": {"type": "success"}} if "outcome" in event else event


def closings(parts: OpenParts, subagent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events that close all open parts; ``subagent`` ends each subagent.

    If that is an error, the steps that it cut short are marked as failed.
    """
    ends = parts.closings(subagent)
    if subagent["type"] == "SUBAGENT_ERROR":
        for end in ends:
            if end["type"] == "STEP_FINISHED":
                end["metadata"] = {"status": "failed"}
    return ends


def subagent_ending(outcome: Mapping[str, Any] | None) -> dict[str, Any]:
    """The event that closes a subagent in a run that ends with ``outcome``."""
    kind: Literal["suspended", "success"]
    kind = "suspended" if (outcome or {}).get("type") == "interrupt" else "success"
    return {"type": "SUBAGENT_FINISHED", "outcome": {"type": kind}}


def subagent_error(message: str, code: str | None = None) -> dict[str, Any]:
    """The event that ends a subagent that was cut short."""
    return {"type": "SUBAGENT_ERROR", "message": message} | ({"code": code} if code else {})
