"""The form of one question: fields from its responseSchema, and the answer that they make."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.timezone import get_current_timezone_name

from agui_host.dashboard.inbox.indented import LONGEST as CUT
from agui_host.dashboard.inbox.indented import indented
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.protocol.questions.decision import Decision
from agui_host.protocol.questions.parts import FEW, ONE_LINE, Option, Part, choice_of, parts_of
from runs.models import Interrupt

LONGEST = 100_000
DISMISS, REJECT = "dismiss", "reject"
INPUT = "input_required"
ABSENT = object()
"""The value of a field that its reader left empty: the answer does not have that member."""
FREE = Part(None, "text", "Answer", False, False, {})
"""The field of a question without a schema that wants input."""
WORDS = {"description": "Approved, it is the answer; rejected, the reason. The agent reads it."}
REMARK = Part(None, "text", "Text", False, False, WORDS)
"""The field of any other question without a schema: it asks for approval."""


class JsonField(forms.CharField):
    """Any JSON, as text."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "mono"})

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text.strip():
            return ABSENT
        try:
            return strict_json.loads(text.encode())
        except BadRequest as error:
            raise forms.ValidationError(error.message.replace("The body", "This")) from None
        except UnicodeEncodeError:
            raise forms.ValidationError("This contains invalid Unicode.") from None


class LinesField(forms.CharField):
    """An array with one value per line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def __init__(self, *args: Any, number: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.number = number

    def clean(self, value: Any) -> Any:
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if not lines:
            return ABSENT
        return [_number(line) for line in lines] if self.number else lines


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
            name = next(
                (
                    field
                    for field, part in self._fields_of.items()
                    if part.name is None
                    or path == f"$.{part.name}"
                    or path.startswith((f"$.{part.name}.", f"$.{part.name}["))
                ),
                None,
            )
            text = message[:1].upper() + message[1:]
            self.add_error(name, text if name or path == "$" else f"{path}: {text}")

    def _values(self) -> Iterable[tuple[Part, Any]]:
        if self.choice is not None:
            yield self.choice, self.choice.options[int(self._pressed)].value
        for name, part in self._fields_of.items():
            yield part, self._value(name, part)

    def _value(self, name: str, part: Part) -> Any:
        value = self.cleaned_data.get(name)
        if part.kind == "json":
            return value
        if value is ABSENT or value in (None, "", []):
            if part.kind == "list" and part.required:
                return []
            if part.required and part.nullable:
                return None
            return "" if part.required and part.kind == "text" else ABSENT
        if part.kind in ("boolean", "enum"):
            return part.options[int(value)].value
        if part.kind == "list" and part.options:
            return [part.options[int(each)].value for each in value]
        if isinstance(value, datetime):
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        if isinstance(value, date):
            return value.isoformat()
        return value.replace("\r\n", "\n") if isinstance(value, str) else value

    def _field(self, part: Part) -> forms.Field:
        required = part.required and not part.nullable and part.kind not in ("text", "list")
        if part is FREE:
            required = True
        shared: dict[str, Any] = {
            "label": f"{part.label} as JSON" if part.kind == "json" else part.label,
            "help_text": part.help,
            "required": required,
            "initial": _initial(part),
        }
        if not (required or part.required):
            shared["label"] += " (optional)"
        return _made(part, shared)


def schema_of(question: Interrupt) -> Any:
    """The question's own schema; that of the API also has the decisions that it takes."""
    return json.loads(question.question).get("responseSchema")


def _made(part: Part, shared: dict[str, Any]) -> forms.Field:
    match part.kind:
        case "boolean" | "enum":
            return _select(part.options, shared)
        case "list" if part.options:
            choices = [(str(n), each.label) for n, each in enumerate(part.options)]
            boxes = forms.CheckboxSelectMultiple()
            return forms.MultipleChoiceField(choices=choices, widget=boxes, **shared)
        case "list":
            shared["help_text"] = shared["help_text"] or "One per line."
            number = part.schema["items"]["type"] != "string"
            return LinesField(number=number, max_length=LONGEST, **shared)
        case "integer":
            most = strict_json.MAX_INTEGER
            return forms.IntegerField(min_value=-most, max_value=most, **shared)
        case "number":
            box = forms.NumberInput(attrs={"step": "any"})
            return forms.FloatField(widget=box, **shared)
        case "date":
            return forms.DateField(
                widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **shared
            )
        case "datetime":
            shared["help_text"] = (
                shared["help_text"] or f"In the time zone {get_current_timezone_name()}."
            )
            clock = forms.DateTimeInput(
                attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S"
            )
            return forms.DateTimeField(widget=clock, **shared)
        case "json":
            return JsonField(max_length=LONGEST, **shared)
        case _:
            length = part.schema.get("maxLength")
            short = isinstance(length, int) and length <= ONE_LINE
            line = forms.TextInput() if short else forms.Textarea(attrs={"rows": 2})
            return forms.CharField(widget=line, strip=False, max_length=LONGEST, **shared)


def _select(options: tuple[Option, ...], shared: dict[str, Any]) -> forms.Field:
    choices = [(str(n), each.label) for n, each in enumerate(options)]
    initial = shared.pop("initial")
    index = next((n for n, each in enumerate(options) if _same(each.value, initial)), None)
    shared["initial"] = None if index is None else str(index)
    if len(options) <= FEW:
        empty = [] if shared["required"] else [("", "No answer")]
        return forms.ChoiceField(choices=empty + choices, widget=forms.RadioSelect(), **shared)
    return forms.ChoiceField(choices=[("", "–"), *choices], **shared)


def _same(one: Any, other: Any) -> bool:
    return one == other and type(one) is type(other)


def _initial(part: Part) -> Any:
    """The schema's ``default``, where it is of the kind that the field takes."""
    value = part.schema.get("default")
    match part.kind:
        case "json":
            text = indented(value) if "default" in part.schema else ""
            return text if len(text) < CUT else ""
        case "list" if part.options:
            chosen = value if isinstance(value, list) else []
            return [str(n) for n, each in enumerate(part.options) if each.value in chosen]
        case "list":
            return "\n".join(map(str, value)) if isinstance(value, list) else None
        case "integer" | "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean" | "enum":
            return value
        case "datetime":
            return _moment(value)
    return value if isinstance(value, str) else None


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(text: str) -> int | float:
    number = whole(text.removeprefix("-"), 0, LARGEST)
    try:
        value: int | float = float(text) if number is None else number
    except ValueError:
        raise forms.ValidationError(f"{text[:40]} is not a number.") from None
    if number is not None and text.startswith("-"):
        value = -number
    if not abs(value) <= strict_json.MAX_INTEGER:
        raise forms.ValidationError(f"{text[:40]} is not a number that JSON can carry.")
    return value
