"""The form of the state that a run begins with: fields from the agent's schema, or JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from agui_host.dashboard.inbox.fields import ABSENT, field_at, field_of, initial_of, value_of
from agui_host.protocol.questions.parts import Part, parts_of
from agui_host.runtimes import registry
from agui_host.runtimes.models import Agent

PREFIX = "state"
WHOLE = Part(None, "json", "State", False, False, {})
"""The field of an agent without a schema, and of one that no fields fit."""
EMPTY: tuple[Any, ...] = (None, "", [], ABSENT)


class StateForm(forms.Form):
    """No field has to be filled in: a run without a state begins with an empty one."""

    def __init__(self, agent: Agent, data: QueryDict | None = None) -> None:
        super().__init__(data, prefix=PREFIX, use_required_attribute=False)
        schema = registry.state_schema_of(agent)
        self.has_schema = schema is not None
        parts = [WHOLE] if schema is None else parts_of(schema)
        self._fields_of = {f"part{number}": part for number, part in enumerate(parts)}
        for name, part in self._fields_of.items():
            label = "State" if part.name is None else part.label
            shared: dict[str, Any] = {
                "label": f"{label} as JSON" if part.kind == "json" else label,
                "help_text": part.help,
                "required": False,
                "initial": initial_of(part),
            }
            self.fields[name] = field = field_of(part, shared)
            if isinstance(field, forms.ChoiceField) and part.kind != "list":
                options = [(str(n), option.label) for n, option in enumerate(part.options)]
                field.choices = [("", "not set"), *options]

    def state(self) -> Any:
        """The state as a start takes it; ABSENT if no field has a value. Call ``is_valid`` first.

        A field without a value is no member of it, also where the schema requires the member: the
        agent's own rule decides about that.
        """
        rows = [(part, self.cleaned_data.get(name)) for name, part in self._fields_of.items()]
        if all(value in EMPTY for _, value in rows):
            return ABSENT
        [(first, value), *_] = rows
        if first.name is None:
            return value_of(first, value)
        return {part.name: value_of(part, value) for part, value in rows if value not in EMPTY}

    def blame(self, problems: Iterable[Mapping[str, str]]) -> None:
        """Show the problems of the agent's check of the state at their fields."""
        for problem in problems:
            path, text = problem["path"], problem["message"]
            name = field_at(self._fields_of, path)
            text = text[:1].upper() + text[1:]
            self.add_error(name, text if name or path == "$" else f"{path}: {text}")
