"""A person's decision about an action, in the one form that every screen and dialect can give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MEMBERS = frozenset({"approved", "reason", "arguments"})
SCHEMA = {
    "title": "Decision",
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve"},
        "reason": {"type": "string", "title": "Reason"},
        "arguments": {"type": "object", "title": "Arguments to use instead"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
YES = frozenset({
    "yes", "y", "true", "ok", "approve", "approved", "accept", "accepted", "allow", "allowed",
    "confirm", "confirmed", "permit", "grant", "authorize", "proceed", "continue",
})  # fmt: skip
NO = frozenset({
    "no", "n", "false", "reject", "rejected", "deny", "denied", "decline", "declined", "refuse",
    "refused", "disallow", "disapprove", "forbid", "block", "cancel", "abort", "stop",
})  # fmt: skip


class Undecidable(ValueError):
    """The question does not take this decision; the message gives a person the reason."""


@dataclass(frozen=True, slots=True)
class Decision:
    """``arguments``: other arguments for the action; None leaves the proposed ones."""

    approved: bool
    reason: str = ""
    arguments: Mapping[str, Any] | None = None

    @property
    def wire(self) -> dict[str, Any]:
        """The decision as JSON."""
        value: dict[str, Any] = {"approved": self.approved}
        if self.reason:
            value["reason"] = self.reason
        if self.arguments is not None:
            value["arguments"] = dict(self.arguments)
        return value


def decision_of(payload: Any, reason: Any = None) -> Decision | None:
    """The decision that a payload is; None if it is something else.

    ``reason`` is a reason outside of the payload.
    """
    if not isinstance(payload, dict) or not isinstance(payload.get("approved"), bool):
        return None
    own, arguments = payload.get("reason"), payload.get("arguments")
    fits = isinstance(own, str | None) and isinstance(arguments, dict | None)
    if not fits or not payload.keys() <= MEMBERS:
        return None
    text = own or (reason if isinstance(reason, str) else "")
    return Decision(payload["approved"], text, arguments)


def plain_decision(payload: Any, reason: Any = None) -> Decision | None:
    """The decision that a boolean or a word is: yes, no, approve, deny …; None for all else."""
    text = reason if isinstance(reason, str) else ""
    if isinstance(payload, bool):
        return Decision(payload, text)
    word = payload.strip().rstrip(".!").lower() if isinstance(payload, str) else ""
    return Decision(word in YES, text) if word in YES | NO else None
