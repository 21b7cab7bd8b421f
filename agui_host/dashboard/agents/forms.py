"""The forms of an agent: to connect a new one, and to change one."""

from typing import Any

from django import forms

from agui_host.protocol.errors import HostError
from agui_host.protocol.strict_json import dumps, loads
from agui_host.runtimes import team_options
from agui_host.runtimes.kinds import kinds
from agui_host.runtimes.models import LONGEST_GRACE, ON_BUSY, Agent, OnBadState
from agui_host.runtimes.options import MOST
from agui_host.runtimes.team_agents import LONGEST, MAX_HEADERS, PROTOCOLS

LONGEST_LINES = 20_000
"""Characters of a field with a line for each header or entry."""
KINDS = [
    ("http", "At an address: the host calls its AG-UI endpoint"),
    ("external", "Elsewhere: your program hands in the events of its runs"),
]


BAD_STATES = [
    (OnBadState.IGNORE.value, "nothing happens"),
    (OnBadState.NOTE.value, "the run gets a finding"),
    (OnBadState.REFUSE.value, "a start is refused, and a run gets a finding"),
]


class LinesField(forms.CharField):
    """A line for each value."""

    def __init__(self, label: str, help_text: str) -> None:
        super().__init__(
            label=label,
            required=False,
            max_length=LONGEST_LINES,
            help_text=help_text,
            widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        )

    def lines(self, value: Any) -> list[str]:
        """The lines that have text."""
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class HeadersField(LinesField):
    """Headers as ``Name: value``; a name without a value removes the stored header."""

    def clean(self, value: Any) -> dict[str, str | None]:
        """By name. Raises ValidationError; the verb checks names and values."""
        pairs = [line.partition(":") for line in self.lines(value)]
        if len(pairs) > MAX_HEADERS or not all(colon for _, colon, _ in pairs):
            raise forms.ValidationError(
                f"Write each header in a line, as Authorization: Bearer …; at most {MAX_HEADERS}."
            )
        return {name.strip(): text.strip() or None for name, _, text in pairs}


class EntriesField(LinesField):
    """Middleware or context providers: in each line a name, and its options as JSON."""

    def clean(self, value: Any) -> list[dict[str, Any]]:
        """In order. Raises ValidationError; the verb checks names and options."""
        lines = self.lines(value)
        if len(lines) > MOST:
            raise forms.ValidationError(f"There can be at most {MOST} lines.")
        return [_entry(line) for line in lines]


class SchemaField(forms.CharField):
    """A JSON Schema as text; None without one."""

    def __init__(self, label: str) -> None:
        super().__init__(
            label=label,
            required=False,
            max_length=LONGEST_LINES,
            widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        )

    def clean(self, value: Any) -> Any:
        """The JSON value. Raises ValidationError; the verb checks that it is a schema."""
        text = super().clean(value).strip()
        try:
            return loads(text.encode()) if text else None
        except HostError as error:
            raise forms.ValidationError(error.message) from None


class ConnectForm(forms.Form):
    """A new agent; the verb checks its address and headers."""

    kind = forms.ChoiceField(
        label="Where it runs", choices=KINDS, initial="http", widget=forms.RadioSelect
    )
    slug = forms.SlugField(
        label="Short name",
        max_length=64,
        help_text="In addresses and filters: letters, digits, - and _.",
        widget=forms.TextInput(attrs={"placeholder": "billing", "autocomplete": "off"}),
    )
    url = forms.CharField(
        label="Address of its AG-UI endpoint",
        max_length=500,
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://agents.example.com/billing"}),
    )
    headers = HeadersField(
        "Headers, one a line",
        "Such as Authorization: Bearer …; stored sealed and never shown again.",
    )

    def clean(self) -> dict[str, Any]:
        """Raises ValidationError for an agent at an address without an address."""
        fields: dict[str, Any] = super().clean() or {}
        if fields.get("kind") == "http" and not fields.get("url") and "url" not in self.errors:
            self.add_error("url", "Write the address that the host is to call.")
        return fields

    @property
    def values(self) -> dict[str, Any]:
        """The valid fields, as ``team_agents.create`` takes them."""
        fields = self.cleaned_data
        names = ("slug", "kind", "url", "headers") if fields["kind"] == "http" else ("slug", "kind")
        return {name: fields[name] for name in names}


class ChangeForm(forms.Form):
    """The settings of an agent that its kind, and the team's rights, let people change."""

    name = forms.CharField(label="Name", max_length=120)
    description = forms.CharField(
        label="Description",
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    url = forms.CharField(label="Address", max_length=500, widget=forms.URLInput())
    headers = HeadersField("Headers to set, one a line", "")
    protocol = forms.ChoiceField(
        label="AG-UI version of its input",
        choices=[(name, {"auto": "found out"}.get(name, name)) for name in PROTOCOLS],
    )
    on_busy = forms.ChoiceField(label="When its thread is busy, a new run", choices=ON_BUSY)
    timeout_seconds = forms.FloatField(
        label="Longest run, in seconds (empty: the host's setting)",
        min_value=0.1,
        max_value=LONGEST,
        required=False,
    )
    worker_grace = forms.FloatField(
        label="When a worker is stopped: seconds that its runs have",
        min_value=0,
        max_value=LONGEST_GRACE,
        required=False,
        help_text="Then another worker continues them, or they end. Empty: none if another worker "
        "continues them, else the host's setting, which is also the most.",
    )
    middleware = EntriesField("Middleware, one a line, in order", "")
    context_providers = EntriesField("Context providers, one a line, in order", "")
    state_schema = SchemaField("Schema of its state, as JSON (empty: the one of its code)")
    on_bad_state = forms.ChoiceField(label="When a state does not match it", choices=BAD_STATES)
    is_default = forms.BooleanField(label="It answers requests that name no agent", required=False)
    is_tool = forms.BooleanField(label="Clients of MCP can call it as a tool", required=False)

    def __init__(self, data: Any, row: Agent, headers: list[str]) -> None:
        """``headers``: the names of stored keys."""
        super().__init__(data, initial=_initial(row))
        if not kinds.of(row.kind).remote:
            for name in ("url", "headers", "protocol"):
                del self.fields[name]
        else:
            stored = f" Stored: {', '.join(headers)}." if headers else ""
            self.fields["headers"].help_text = f"Name: value sets one, Name: removes it.{stored}"
        for name, table in team_options.TABLES.items():
            known = sorted(key for key, kind in table.items() if getattr(kind, "of_team", False))
            self.fields[name].help_text = f"Available: {', '.join(known)}. Options follow as JSON."
        if row.is_default:  # Another agent becomes the default in its place.
            del self.fields["is_default"]

    def clean_description(self) -> str:
        """With the line ends of the stored text; browsers send others."""
        text: str = self.cleaned_data["description"]
        return text.replace("\r\n", "\n")

    def changes(self, row: Agent) -> dict[str, Any]:
        """The fields that differ from the stored agent, as ``team_agents.change`` takes them."""
        stored = {**self.initial, "state_schema": row.state_schema}
        stored |= {field: team_options.visible(row, field) for field in team_options.TABLES}
        values = {
            name: self.cleaned_data[name]
            for name in self.changed_data
            if self.cleaned_data[name] != stored.get(name)
        }
        if "protocol" in values:
            values["settings"] = {**row.settings, "protocol": values.pop("protocol")}
        return values


def _initial(row: Agent) -> dict[str, Any]:
    names = ("name", "description", "on_busy", "on_bad_state", "is_tool")
    values = {name: getattr(row, name) for name in names}
    schema = row.state_schema
    values["state_schema"] = "" if schema is None else dumps(schema)
    values |= {"url": row.target, "timeout_seconds": row.timeout_seconds, "is_default": False}
    values["worker_grace"] = row.worker_grace
    values["protocol"] = row.settings.get("protocol", "auto") if row.settings else "auto"
    for field in team_options.TABLES:
        values[field] = "\n".join(map(_line, team_options.visible(row, field)))
    return values


def _line(entry: dict[str, Any]) -> str:
    options = {name: value for name, value in entry.items() if name != "name"}
    return f"{entry['name']} {dumps(options)}" if options else entry["name"]


def _entry(line: str) -> dict[str, Any]:
    name, _, text = line.partition(" ")
    try:
        options = loads(text.encode()) if text.strip() else {}
    except HostError as error:
        raise forms.ValidationError(f"{name}: {error.message}") from None
    if not isinstance(options, dict) or "name" in options:
        raise forms.ValidationError(f'{name}: write its options as JSON, {{"option": value}}.')
    return {"name": name, **options}
