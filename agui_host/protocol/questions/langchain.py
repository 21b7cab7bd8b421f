"""LangChain's HumanInTheLoopMiddleware, read from the value that it gives to ``interrupt()``.

``batched``: ``{"action_requests": [{name, args, description}], "review_configs": [{action_name,
allowed_decisions}]}``, answered by ``{"decisions": [one for each action]}``. ``per_call``:
``{"type": "tool_approval", name, args, description}``, answered by one decision.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema, check
from agui_host.protocol.questions.decision import Decision

MOST = 50
"""Actions of a batch that the host reads; beyond it, people answer with JSON."""
EVERY = ("approve", "edit", "reject", "respond")


class HumanInTheLoop(Approval):
    """``single``: the payload is one decision. ``allowed``: the decisions of each action."""

    def __init__(
        self, actions: Sequence[Action], allowed: Sequence[Sequence[str]], *, single: bool
    ) -> None:
        each = [_decisions(action, kinds) for action, kinds in zip(actions, allowed, strict=True)]
        number = len(each)
        batch = {"type": "array", "prefixItems": each, "minItems": number, "maxItems": number}
        several = {"type": "object", "properties": {"decisions": batch}, "required": ["decisions"]}
        super().__init__(actions, each[0] if single else several)
        self._allowed, self._single = allowed, single

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """``{"decisions": [...]}`` or one decision. Raises Undecidable."""
        made = [
            _decided(action, kinds, decision)
            for action, kinds, decision in zip(self.actions, self._allowed, decisions, strict=True)
        ]
        return made[0] if self._single else {"decisions": made}


def approval_of(raw: Any) -> HumanInTheLoop | None:
    """The approval that a value of ``interrupt()`` asks for; None for any other value."""
    if not isinstance(raw, dict):
        return None
    if raw.get("type") == "tool_approval" and isinstance(raw.get("name"), str):
        return HumanInTheLoop([_action(raw, EVERY)], [EVERY], single=True)
    requests, configs = raw.get("action_requests"), raw.get("review_configs")
    if not isinstance(requests, list) or not 0 < len(requests) <= MOST:
        return None
    if not all(isinstance(each, dict) and isinstance(_name(each), str) for each in requests):
        return None
    known = {}
    for config in configs if isinstance(configs, list) else ():
        kinds = config.get("allowed_decisions") if isinstance(config, dict) else None
        if isinstance(kinds, list):
            name = config.get("action_name", config.get("action"))
            known[str(name)] = tuple(kind for kind in EVERY if kind in kinds)
    allowed = [known.get(_name(each)) or EVERY[:3] for each in requests]
    actions = [_action(each, kinds) for each, kinds in zip(requests, allowed, strict=True)]
    return HumanInTheLoop(actions, allowed, single=False)


def _name(request: Mapping[str, Any]) -> Any:
    return request.get("name", request.get("action"))


def _action(request: Mapping[str, Any], allowed: Sequence[str]) -> Action:
    arguments, text = request.get("args", request.get("arguments")), request.get("description")
    return Action(
        name=_name(request),
        arguments=arguments if isinstance(arguments, dict) else None,
        description=text if isinstance(text, str) else "",
        approvable="approve" in allowed,
        rejectable="reject" in allowed or "respond" in allowed,
        editable="edit" in allowed,
    )


def _decided(action: Action, allowed: Sequence[str], decision: Decision) -> dict[str, Any]:
    check(action, decision)
    if decision.approved and decision.arguments is None:
        return {"type": "approve"}
    if decision.approved:
        return {
            "type": "edit",
            "edited_action": {"name": action.name, "args": dict(decision.arguments or {})},
        }
    if "reject" in allowed:
        return {"type": "reject"} | ({"message": decision.reason} if decision.reason else {})
    return {"type": "respond", "message": decision.reason or "The person declined."}


def _decisions(action: Action, allowed: Sequence[str]) -> Schema:
    edited = {"name": {"const": action.name}, "args": {"type": "object"}}
    more: dict[str, Schema] = {
        "approve": {},
        "reject": {"message": {"type": "string"}},
        "respond": {"message": {"type": "string"}},
        "edit": {
            "edited_action": {"type": "object", "properties": edited, "required": list(edited)}
        },
    }
    required = {"respond": ["message"], "edit": ["edited_action"]}
    return {
        "title": action.name,
        "anyOf": [
            {
                "type": "object",
                "properties": {"type": {"const": kind}, **more[kind]},
                "required": ["type", *required.get(kind, ())],
            }
            for kind in allowed
        ],
    }
