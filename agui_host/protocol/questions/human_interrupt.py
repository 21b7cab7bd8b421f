"""LangGraph's HumanInterrupt, as graphs from before LangChain 1.0 and the Agent Inbox have it.

``{"action_request": {action, args}, "config": {allow_accept, allow_edit, allow_respond,
allow_ignore}, description}``, alone or in a list, is answered by a list of one response.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema, check
from agui_host.protocol.questions.decision import Decision

ACCEPT, EDIT, RESPOND, IGNORE = "accept", "edit", "response", "ignore"
ALLOWED = {
    "allow_accept": ACCEPT,
    "allow_edit": EDIT,
    "allow_respond": RESPOND,
    "allow_ignore": IGNORE,
}
DECLINED = "The person declined."


class HumanInterrupt(Approval):
    """``allowed``: the types of the responses that the graph takes."""

    def __init__(self, action: Action, allowed: Sequence[str]) -> None:
        each = {"type": "array", "minItems": 1, "maxItems": 1}
        super().__init__([action], {**each, "items": {"anyOf": [_response(k) for k in allowed]}})
        self._allowed = allowed

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """A list of one response. Raises Undecidable."""
        (decision,) = decisions
        (action,) = self.actions
        check(action, decision)
        if decision.arguments is not None:
            edited = {"action": action.name, "args": dict(decision.arguments)}
            return [{"type": EDIT, "args": edited}]
        if decision.approved:
            return [{"type": ACCEPT, "args": None}]
        if RESPOND in self._allowed and (decision.reason or IGNORE not in self._allowed):
            return [{"type": RESPOND, "args": decision.reason or DECLINED}]
        return [{"type": IGNORE, "args": None}]


def approval_of(raw: Any) -> HumanInterrupt | None:
    """The approval that a value of ``interrupt()`` asks for; None for any other value."""
    if isinstance(raw, list) and len(raw) == 1:
        (raw,) = raw
    request = raw.get("action_request") if isinstance(raw, dict) else None
    if not isinstance(request, dict) or not isinstance(request.get("action"), str):
        return None
    config, text = raw.get("config"), raw.get("description")
    allowed = _allowed(config if isinstance(config, dict) else {})
    arguments = request.get("args")
    action = Action(
        name=request["action"],
        arguments=arguments if isinstance(arguments, dict) else None,
        description=text if isinstance(text, str) else "",
        approvable=ACCEPT in allowed,
        rejectable=IGNORE in allowed or RESPOND in allowed,
        editable=EDIT in allowed,
    )
    return HumanInterrupt(action, allowed) if allowed else None


def _allowed(config: Mapping[str, Any]) -> list[str]:
    return [kind for name, kind in ALLOWED.items() if config.get(name) is True]


def _response(kind: str) -> Schema:
    edited = {"action": {"type": "string"}, "args": {"type": "object"}}
    arguments: dict[str, Schema] = {
        EDIT: {"type": "object", "properties": edited, "required": list(edited)},
        RESPOND: {"type": "string"},
    }
    return {
        "title": kind,
        "type": "object",
        "properties": {"type": {"const": kind}, "args": arguments.get(kind, {"type": "null"})},
        "required": ["type", *(["args"] if kind in arguments else [])],
    }
