"""The form of one question: fields from its responseSchema, and the answer that they make."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from agui_host.dashboard.inbox.fields import ABSENT, field_at, field_of, initial_of, value_of
from agui_host.protocol.questions.decision import Decision
from agui_host.protocol.questions.parts import Part, choice_of, parts_of
from runs.models import Interrupt

DISMISS, REJECT = "dismiss", "reject"
INPUT = "input_required"
FREE = Part(None, "text", "Answer", False, False, {})
"""The field of a question without a schema that wants input."""
WORDS = {"description": "Approved, it is the answer; rejected, the reason. The agent reads it."}
REMARK = Part(None, "text", "Text", False, False, WORDS)
"""The field of any other question without a schema: it asks for approval."""


class AnswerForm(forms.Form):
    """``choice`` is the button that was pressed: an option's index, or DISMISS."""

    def __init__(self, question: Interrupt, data: QueryDict | None = None) -> None:
        super().__init__(data, prefix=str(question.pk), use_required_attribute=False)
        self.question = question
        schema = schema_of(question)
        self.has_schema = schema is not None
        self.parts = parts_of(schema or {})
        self.choice = choice_of(self.parts)
        self._approves = not self.has_schema and question.reason != INPUT
        if not self.has_schema:
            self.parts, self.choice = [REMARK if self._approves else FREE], None
        self._fields_of = {
            f"part{n}": part for n, part in enumerate(self.parts) if part is not self.choice
        }
        for name, part in self._fields_of.items():
            self.fields[name] = self._field(part)
        self._pressed = data.get("choice", "") if data is not None else ""

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """The buttons that answer, as (value, label)."""
        if self.choice is not None:
            return [(str(n), option.label) for n, option in enumerate(self.choice.options)]
        if self._approves:
            return [("send", "Approve"), (REJECT, "Reject")]
        return [("send", "Send answer")]

    @property
    def has_favourite(self) -> bool:
        """Whether the first button is the one to see first: not among options of equal rank."""
        return self.choice is None or self.choice.kind == "boolean"

    @property
    def legend(self) -> str:
        """The subject of the buttons, if their words do not name it."""
        return self.choice.label if self.choice is not None and self.choice.name else ""

    @property
    def has_json(self) -> bool:
        """Whether a field wants JSON, so that its reader needs the schema."""
        return any(part.kind == "json" for part in self.parts) and self.has_schema

    def clean(self) -> dict[str, Any]:
        values = {option for option, _ in self.buttons}
        if self._pressed not in {*values, DISMISS}:
            raise forms.ValidationError("Choose one of the answers.")
        return self.cleaned_data

    def is_valid(self) -> bool:
        """To dismiss a question, its fields need not be filled in."""
        return self._pressed == DISMISS or super().is_valid()

    def answer(self) -> dict[str, Any]:
        """The answer as the API takes it: ``{"status", "payload"?}``. Call ``is_valid`` first."""
        if self._pressed == DISMISS:
            return {"status": "cancelled"}
        if self._approves:
            return {"status": "resolved", "payload": self._decided()}
        payload: Any = {}
        for part, value in self._values():
            if part.name is None:
                payload = value
            elif value is not ABSENT:
                payload[part.name] = value
        return {"status": "resolved"} | ({} if payload is ABSENT else {"payload": payload})

    def _decided(self) -> Any:
        """The decision that every dialect sends for a question without a schema, or a text."""
        text = str(self.cleaned_data.get("part0") or "").replace("\r\n", "\n")
        if self._pressed == REJECT:
            return Decision(approved=False, reason=text.strip()).wire
        return text or Decision(approved=True).wire

    def blame(self, errors: Iterable[Mapping[str, str]]) -> None:
        """Show the errors of the host's schema check at their fields."""
        for error in errors:
            path, message = error["path"], error["message"]
            name = field_at(self._fields_of, path)
            text = message[:1].upper() + message[1:]
            self.add_error(name, text if name or path == "$" else f"{path}: {text}")

    def _values(self) -> Iterable[tuple[Part, Any]]:
        if self.choice is not None:
            yield self.choice, self.choice.options[int(self._pressed)].value
        for name, part in self._fields_of.items():
            yield part, value_of(part, self.cleaned_data.get(name))

    def _field(self, part: Part) -> forms.Field:
        required = part.required and not part.nullable and part.kind not in ("text", "list")
        if part is FREE:
            required = True
        shared: dict[str, Any] = {
            "label": f"{part.label} as JSON" if part.kind == "json" else part.label,
            "help_text": part.help,
            "required": required,
            "initial": initial_of(part),
        }
        if not (required or part.required):
            shared["label"] += " (optional)"
        return field_of(part, shared)


def schema_of(question: Interrupt) -> Any:
    """The question's own schema; that of the API also has the decisions that it takes."""
    return json.loads(question.question).get("responseSchema")
