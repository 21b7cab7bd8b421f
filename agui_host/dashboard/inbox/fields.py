"""The fields of a JSON Schema's parts: how people fill in JSON without writing it."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from django import forms
from django.utils.timezone import get_current_timezone_name

from agui_host.dashboard.inbox.indented import LONGEST as CUT
from agui_host.dashboard.inbox.indented import indented
from agui_host.protocol import strict_json
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.input.numbers import LARGEST, whole
from agui_host.protocol.questions.parts import FEW, ONE_LINE, Option, Part

LONGEST = 100_000
ABSENT = object()
"""The value of a field that its reader left empty: the answer does not have that member."""


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


def field_at(fields: Mapping[str, Part], path: str) -> str | None:
    """The name of the field that a JSON path of a problem is in; None if it is in no field."""
    return next(
        (
            name
            for name, part in fields.items()
            if part.name is None
            or path == f"$.{part.name}"
            or path.startswith((f"$.{part.name}.", f"$.{part.name}["))
        ),
        None,
    )


def value_of(part: Part, value: Any) -> Any:
    """A field's value as JSON has it; ABSENT if its reader left it empty."""
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


def field_of(part: Part, shared: dict[str, Any]) -> forms.Field:
    """The field of a part; ``shared`` are the arguments that every kind of field takes."""
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


def initial_of(part: Part) -> Any:
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
