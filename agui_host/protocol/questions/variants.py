"""Approvals whose payload is one of several objects, told apart by a member with a fixed value.

``oneOf`` (or ``anyOf``) of ``{"type": "approve"}`` and ``{"type": "reject", "message": …}``, as
Pydantic's discriminated unions and zod's write it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_host.protocol.questions.approval import Action, Approval, Schema, check
from agui_host.protocol.questions.decision import Decision
from agui_host.protocol.questions.members import EDITS, REASONS
from agui_host.protocol.questions.parts import Part, followed, parts_of
from agui_host.protocol.questions.words import APPROVE, EDIT, REJECT, meanings_of

MOST = 20
DISCRIMINATORS = ("type", "kind", "status", "decision", "action", "choice", "answer")
Variant = Mapping[str, Part]
"""The members of a variant by name."""


class Variants(Approval):
    """``kinds``: the variant of each meaning. ``name``: the member that tells them apart."""

    def __init__(
        self, schema: Schema, name: str, kinds: Mapping[str, Variant], *, is_whole: bool
    ) -> None:
        self._name, self._kinds = name, kinds
        self._edit = kinds.get(EDIT, kinds[APPROVE])
        is_editable = _first(self._edit, EDITS, "json") is not None
        super().__init__([Action(rejectable=REJECT in kinds, editable=is_editable)], schema)
        self._is_whole = is_whole

    @property
    def by_schema(self) -> bool:
        """Whether there are variants that are no decision."""
        return not self._is_whole

    def payload(self, decisions: Sequence[Decision]) -> Any:
        """The variant of the decision. Raises Undecidable."""
        (decision,) = decisions
        check(self.actions[0], decision)
        kind = self._kinds[APPROVE if decision.approved else REJECT]
        if decision.arguments is not None:
            kind = self._edit
        value = {
            name: part.options[0].value if name == self._name else part.schema["default"]
            for name, part in kind.items()
            if name == self._name or (part.required and "default" in part.schema)
        }
        if decision.arguments is not None:
            value[_first(kind, EDITS, "json") or ""] = dict(decision.arguments)
        if decision.reason and (reason := _first(kind, REASONS, "text")):
            value[reason] = decision.reason
        return value


def variants_of(schema: Schema) -> Variants | None:
    """The approval that a schema of variants asks for; None for any other schema."""
    top = followed(schema, schema)
    choices = top.get("oneOf") or top.get("anyOf")
    if not isinstance(choices, list) or not 1 < len(choices) <= MOST:
        return None
    root = {name: value for name, value in schema.items() if name in ("$defs", "definitions")}
    each = [_members(choice, root, schema) for choice in choices]
    for name in DISCRIMINATORS:
        if not all(name in members and len(members[name].options) == 1 for members in each):
            continue
        meanings = meanings_of([members[name].options[0] for members in each])
        kinds = {meaning: each[number] for meaning, number in meanings.items()}
        is_whole = len(kinds) == len(each)
        return Variants(schema, name, kinds, is_whole=is_whole) if APPROVE in kinds else None
    return None


def _members(choice: Any, root: Schema, schema: Schema) -> Variant:
    whole = {**followed(choice, schema), **root}
    return {part.name: part for part in parts_of(whole) if part.name is not None}


def _first(kind: Variant, names: Sequence[str], sort: str) -> str | None:
    return next((name for name in names if name in kind and kind[name].kind == sort), None)
