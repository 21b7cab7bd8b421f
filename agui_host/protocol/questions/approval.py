"""An approval: the actions that a question is about, and the payload for a decision about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agui_host.protocol.questions.decision import SCHEMA, Decision, Undecidable

Schema = dict[str, Any]


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
    def response_schema(self) -> Schema | None:
        """The schema of all answers: the framework's own payload, or a decision."""
        if self.schema is None or _refers(self.schema):
            return self.schema
        own = {name: value for name, value in self.schema.items() if name != "$schema"}
        return {"anyOf": [own, SCHEMA]}

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
    named = action.name or "This action"
    if not decision.approved:
        if not action.rejectable:
            raise Undecidable(f"{named} cannot be rejected.")
    elif decision.arguments is not None:
        if not action.editable:
            raise Undecidable(f"The arguments of {named} cannot be changed.")
    elif not action.approvable:
        raise Undecidable(f"{named} cannot be approved as it is.")


def _refers(value: Any) -> bool:
    """Whether a schema refers to a place in itself, which would not be there inside of another."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "$ref" in part or "$id" in part:
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return False
