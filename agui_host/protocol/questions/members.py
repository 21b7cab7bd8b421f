"""Approvals by JSON Schema: a boolean that decides, with members for a reason and for edits."""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema, check
from agui_host.protocol.questions.decision import Decision, Undecidable
from agui_host.protocol.questions.parts import Part

REASONS = ("reason", "message", "comment", "note", "feedback", "explanation", "why")
EDITS = ("arguments", "editedArgs", "edited_args", "args", "edited", "edits", "input")


class Members(Approval):
    """``choice`` is the boolean: a member of the payload, or the payload itself."""

    def __init__(self, schema: Schema, parts: Sequence[Part], choice: Part) -> None:
        self._choice, self._parts = choice, [part for part in parts if part is not choice]
        names = {part.name or "": part for part in self._parts}
        self._closed = schema.get("additionalProperties") is False
        self._reason = next((name for name in REASONS if _is(names.get(name), "text")), None)
        self._edit = next((name for name in EDITS if _is(names.get(name), "json")), None)
        self._names = frozenset(names)
        is_editable = choice.name is not None
        super().__init__([Action(editable=is_editable)], schema)

    @property
    def response_schema(self) -> Schema | None:
        """The question's own schema, if a decision matches it."""
        says = self._choice.name == "approved" and not self._closed
        return self.schema if says else super().response_schema

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """The members of the question's own schema. Raises Undecidable."""
        (decision,) = decisions
        check(self.actions[0], decision)
        if self._choice.name is None:
            return decision.approved
        value = self._defaults() if decision.approved else {}
        value[self._choice.name] = decision.approved
        if decision.arguments is not None:
            value |= self._edited(dict(decision.arguments))
        if decision.reason and (self._reason or not self._closed):
            value[self._reason or "reason"] = decision.reason
        return value

    def is_own(self, payload: Mapping[str, Any]) -> bool:
        """Whether the question's schema has a ``reason`` or ``arguments`` of another kind."""
        read = {"reason": self._reason, "arguments": self._edit}
        names = self._names & payload.keys()
        return any(name in names and other != name for name, other in read.items())

    def _edited(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if self._edit is not None:
            return {self._edit: arguments}
        if arguments.keys() <= self._names:
            return arguments
        if self._closed:
            raise Undecidable("This question takes no other arguments.")
        return {"arguments": arguments}

    def _defaults(self) -> dict[str, Any]:
        """Required members that the question has a value for."""
        return {
            part.name: part.schema["default"]
            for part in self._parts
            if part.name is not None and part.required and "default" in part.schema
        }


def _is(part: Part | None, kind: str) -> bool:
    return part is not None and part.kind == kind
