"""Approvals by JSON Schema: a boolean or word decides, others take a reason and edits."""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema
from agui_host.protocol.questions.decision import Decision, Undecidable
from agui_host.protocol.questions.parts import Part
from agui_host.protocol.questions.words import APPROVE, EDIT, REJECT, Values

REASONS = ("reason", "message", "comment", "note", "feedback", "explanation", "why")
EDITS = ("arguments", "editedArgs", "edited_args", "args", "edited", "edits", "input")
MOST_LISTED, LONGEST_LISTED = 10, 60
"""Options that an error names, and the characters of each."""


class Members(Approval):
    """``choice`` decides: a member of the payload, or the payload itself; ``values`` its values."""

    def __init__(self, schema: Schema, parts: Sequence[Part], choice: Part, values: Values) -> None:
        self._choice, self._parts = choice, [part for part in parts if part is not choice]
        self._values = values
        names = {part.name or "": part for part in self._parts}
        self._closed = schema.get("additionalProperties") is False
        self._reason = next((name for name in REASONS if _is(names.get(name), "text")), None)
        explains = self._reason is not None and names[self._reason].required
        self._must_explain = self._reason if explains else None
        self._edit = next((name for name in EDITS if _is(names.get(name), "json")), None)
        self._names = frozenset(names)
        is_editable = choice.name is not None
        action = Action(rejectable=REJECT in values, editable=is_editable)
        super().__init__([action], schema)

    @property
    def by_schema(self) -> bool:
        """Its members are the form."""
        return True

    @property
    def response_schema(self) -> Schema | None:
        """The question's own schema, if a decision matches it."""
        is_decision = self._choice.name == "approved" and self._choice.kind == "boolean"
        says = is_decision and not self._closed
        return self.schema if says else super().response_schema

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """The members of the question's own schema. Raises Undecidable."""
        (decision,) = decisions
        verdict = self._said(decision)
        if self._choice.name is None:
            return verdict
        value = self._defaults() if decision.approved else {}
        if self._must_explain:
            value[self._must_explain] = ""
        value[self._choice.name] = verdict
        if decision.arguments is not None:
            value |= self._edited(dict(decision.arguments))
        if decision.reason and (self._reason or not self._closed):
            value[self._reason or "reason"] = decision.reason
        return value

    @property
    def deciding(self) -> str | None:
        """The name of the member that decides; None if the payload is nothing else."""
        return self._choice.name

    def is_own(self, payload: Mapping[str, Any]) -> bool:
        """Whether a payload that looks like a decision is meant for the question's own schema.

        Its ``reason`` or ``arguments`` are of another kind there.
        """
        read = {"reason": self._reason, "arguments": self._edit}
        names = self._names & payload.keys()
        return any(name in names and other != name for name, other in read.items())

    def _said(self, decision: Decision) -> Any:
        """The value that decides. Raises Undecidable."""
        if decision.arguments is not None and self._choice.name is None:
            raise Undecidable("The arguments of this action cannot be changed.")
        if not decision.approved:
            if REJECT not in self._values:
                raise Undecidable(
                    f"This question has no answer that rejects{listed(self._choice)}."
                )
            return self._values[REJECT]
        if decision.arguments is not None and EDIT in self._values:
            return self._values[EDIT]
        return self._values[APPROVE]

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


def listed(part: Part) -> str:
    """The options of a part, as an error names them; empty without any."""
    options = [each.label[:LONGEST_LISTED] for each in part.options]
    more = ", …" if len(options) > MOST_LISTED else ""
    return f"; it takes {', '.join(options[:MOST_LISTED])}{more}" if options else ""
