"""How a run ends: the events that close its open parts, and a success's lists."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from agui_host.protocol.encoding import Record
from agui_host.protocol.errors import RunFailed
from agui_host.protocol.fold.open_parts import OpenParts
from agui_host.protocol.intake import response_schema
from agui_host.protocol.intake.questions import with_messages
from agui_host.protocol.questions.rules import Asked

if TYPE_CHECKING:
    from agui_host.protocol.intake.intake import Intake


def end(intake: "Intake") -> list[Record]:
    """The end of a run whose agent has sent none: a failure if its questions cannot be stored."""
    try:
        return intake.finish()
    except RunFailed as failed:
        return intake.fail(failed.reason, failed.message)


def finished(event: dict[str, Any], parts: OpenParts, by_rule: Asked) -> dict[str, Any]:
    """A RUN_FINISHED whose success lists the calls that wait for the application.

    Readers who join late cannot count them. An interrupt gets the messages of its questions; a
    success is one if the run has asked by other events.
    """
    outcome = by_rule.outcome(event, parts.pending_tool_calls())
    outcome = outcome or event.get("outcome") or {"type": "success"}
    if outcome["type"] == "interrupt":
        return event | {"outcome": with_messages(outcome)}
    if outcome["type"] != "success":
        return event
    if pending := parts.pending_tool_calls():
        return event | {"outcome": {"type": "success", "pendingToolCallIds": pending}}
    return event | {"outcome": {"type": "success"}} if "outcome" in event else event


def ended(
    event: dict[str, Any],
    parts: OpenParts,
    by_rule: Asked,
    unusable: Callable[[int, str], None],
) -> dict[str, Any]:
    """The agent's own RUN_FINISHED, its questions without schemas that cannot be checked.

    ``unusable`` is called for each of them, and can raise.
    """
    event = finished(event, parts, by_rule)
    if "outcome" not in event:
        return event
    return event | {"outcome": response_schema.usable(event["outcome"], unusable)}


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
