"""An approval: the actions that a question is about, and the payload for a decision about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agui_host.protocol.questions.decision import SCHEMA, Decision, Undecidable

Schema = dict[str, Any]
SHARED = ("$defs", "definitions")
"""Members to which a ``$ref`` leads from any part of a schema, so that they stay at its top."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the agent. ``arguments`` is None if the question does not have them.

    The flags are a person's possible decisions.
    """

    name: str = ""
    arguments: dict[str, Any] | None = None
    description: str = ""
    approvable: bool = True
    rejectable: bool = True
    editable: bool = False


class Approval:
    """One framework's way to ask for approval. ``schema`` is that of the framework's payload."""

    def __init__(self, actions: Sequence[Action], schema: Schema | None) -> None:
        self.actions = tuple(actions)
        self.schema = schema

    @property
    def by_schema(self) -> bool:
        """Whether people answer in a form of the question's own schema: it has other answers."""
        return False

    @property
    def response_schema(self) -> Schema | None:
        """The schema of all answers: the framework's own payload, or a decision."""
        if self.schema is None:
            return None
        moved = {name: self.schema[name] for name in SHARED if name in self.schema}
        own = {k: v for k, v in self.schema.items() if k not in {"$schema", *moved}}
        if _is_bound(own) or any(map(_is_bound, moved.values())):
            return self.schema
        return {"anyOf": [own, SCHEMA], **moved}

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """The framework's payload for a decision about each action. Raises Undecidable."""
        raise NotImplementedError

    def refusal(self) -> Any:
        """The payload for a question that was dismissed. Raises Undecidable."""
        return self.payload([Decision(approved=False)] * len(self.actions))

    def payload_for_all(self, decision: Decision) -> Any:
        """The payload for one decision that counts for all actions. Raises Undecidable."""
        if decision.arguments is not None and len(self.actions) > 1:
            raise Undecidable("There are several actions, so say whose arguments these are.")
        return self.payload([decision] * len(self.actions))


def check(action: Action, decision: Decision) -> None:
    """Raises Undecidable for a decision that the action does not allow."""
    named = action.name or "this action"
    if not decision.approved:
        if not action.rejectable:
            raise Undecidable(f"{_begun(named)} cannot be rejected.")
    elif decision.arguments is not None:
        if not action.editable:
            raise Undecidable(f"The arguments of {named} cannot be changed.")
    elif not action.approvable:
        raise Undecidable(f"{_begun(named)} cannot be approved as it is.")


def _begun(named: str) -> str:
    """The beginning of a sentence; the name of a tool keeps its letters."""
    return "This action" if named == "this action" else named


def _is_bound(value: Any) -> bool:
    """Whether a schema refers to a place in itself that would not be there inside of another."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            target = part.get("$ref", "#/$defs/")
            shared = (f"#/{name}/" for name in SHARED)
            if "$id" in part or not isinstance(target, str) or not target.startswith(tuple(shared)):
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False
