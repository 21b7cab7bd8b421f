"""Reads a responseSchema into the parts of a form.

A form asks; it does not judge. Whether an answer fits is decided by the host's check of the schema
(``agui_host/protocol/intake/response_schema.py``), so a schema that is only partly understood
costs comfort, never correctness: other parts become a field for JSON.
"""

from dataclasses import dataclass
from typing import Any, Literal

from agui_host.protocol.pointer import steps
from agui_host.protocol.strict_json import dumps_any

MOST_PARTS = 30
MOST_OPTIONS = 200
FEW = 5
"""Up to this many options are buttons or radio buttons, more are a list."""
HOPS = 5
LONG_LABEL, LONG_HELP = 200, 600
ONE_LINE = 200

Kind = Literal["boolean", "enum", "integer", "number", "text", "date", "datetime", "list", "json"]
Schema = dict[str, Any]

VERBS = {
    "approve": ("Approve", "Deny"),
    "accept": ("Accept", "Decline"),
    "allow": ("Allow", "Deny"),
    "confirm": ("Confirm", "Reject"),
    "permit": ("Allow", "Deny"),
    "authoriz": ("Approve", "Deny"),
    "consent": ("Allow", "Deny"),
}
"""The words of a yes and a no, by how the name of a boolean begins."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value that an answer can have, and its label."""

    value: Any
    label: str


@dataclass(frozen=True, slots=True)
class Part:
    """One field. ``name`` is the member of the answer; None: the answer is this value itself."""

    name: str | None
    kind: Kind
    label: str
    required: bool
    nullable: bool
    schema: Schema
    options: tuple[Option, ...] = ()

    @property
    def help(self) -> str:
        """The schema's description, cut to what fits under a field."""
        text = self.schema.get("description")
        return text[:LONG_HELP] if isinstance(text, str) else ""

    @property
    def decides(self) -> bool:
        """Whether by its name the answer is a yes or a no."""
        return self.kind == "boolean" and _verbs(self.name) is not None


def parts_of(schema: Any) -> list[Part]:
    """The fields for answers to this schema: one for each member of an object, or a single one."""
    root = schema if isinstance(schema, dict) else {}
    top = followed(root, root)
    members = top.get("properties")
    required = top.get("required")
    if (
        top.get("type", "object") == "object"
        and isinstance(members, dict)
        and 0 < len(members) <= MOST_PARTS
        and not _combines(top)
    ):
        names = required if isinstance(required, list) else []
        return [_part(name, each, root, name in names) for name, each in members.items()]
    return [_part(None, top, root, required=True)]


def choice_of(parts: list[Part]) -> Part | None:
    """The part whose values are the form's buttons; None if the form has a single button.

    A boolean with a fitting name, like ``approved``, or else the one boolean or short list of
    options that an answer must have, if it must have nothing else.
    """
    few = [part for part in parts if 0 < len(part.options) <= FEW]
    short = [part for part in few if part.kind in ("boolean", "enum")]
    must = [part for part in parts if part.required]
    for group in ([part for part in short if part.decides], must or parts):
        if len(group) == 1 and group[0] in short:
            return group[0]
    return None


def is_verb(name: str) -> bool:
    """Whether a member asks for a yes or a no by its name."""
    return _verbs(name) is not None


def _part(name: str | None, schema: Any, root: Schema, required: bool) -> Part:
    own = followed(schema, root)
    own, nullable = _without_null(own, root)
    kind, options = _kind(own, name)
    title = own.get("title")
    label = title if isinstance(title, str) and title.strip() else _words(name)
    return Part(name, kind, label[:LONG_LABEL], required, nullable, own, options)


def _words(name: str | None) -> str:
    text = (name or "").replace("_", " ").replace("-", " ").strip()
    return text[:1].upper() + text[1:] if text else "Answer"


def _kind(schema: Schema, name: str | None) -> tuple[Kind, tuple[Option, ...]]:
    if options := _options(schema):
        return "enum", options
    match schema.get("type"):
        case "boolean":
            yes, no = _verbs(name) or ("Yes", "No")
            return "boolean", (Option(True, yes), Option(False, no))
        case "integer" | "number" as kind:
            return kind, ()
        case "string":
            form = schema.get("format")
            return ("date" if form == "date" else "datetime" if form == "date-time" else "text"), ()
        case "array":
            items = schema.get("items")
            if isinstance(items, dict):
                if options := _options(items):
                    return "list", options
                if items.get("type") in ("string", "integer", "number") and not _combines(items):
                    return "list", ()
    return "json", ()


def _verbs(name: str | None) -> tuple[str, str] | None:
    if name is None:
        return "Approve", "Deny"
    text = name.lower().removeprefix("is_").removeprefix("is")
    return next((words for stem, words in VERBS.items() if text.startswith(stem)), None)


def _options(schema: Schema) -> tuple[Option, ...]:
    listed = schema.get("enum")
    if listed is None and "const" in schema:
        listed = [schema["const"]]
    if isinstance(listed, list) and 0 < len(listed) <= MOST_OPTIONS:
        return tuple(Option(value, _label(value)) for value in listed)
    for name in ("oneOf", "anyOf"):
        choices = schema.get(name)
        if not isinstance(choices, list) or not 0 < len(choices) <= MOST_OPTIONS:
            continue
        if all(isinstance(each, dict) and "const" in each for each in choices):
            return tuple(
                Option(each["const"], _label(each.get("title", each["const"]))) for each in choices
            )
    return ()


def _label(value: Any) -> str:
    text = value if isinstance(value, str) else dumps_any(value)
    return text[:LONG_LABEL].strip() or "(empty)"


def _combines(schema: Schema) -> bool:
    return any(name in schema for name in ("oneOf", "anyOf", "allOf", "not", "if", "$ref"))


def followed(schema: Any, root: Schema) -> Schema:
    """The schema that a ``$ref`` or an ``allOf`` of one leads to, with the members next to it."""
    own: Schema = schema if isinstance(schema, dict) else {}
    for _ in range(HOPS):
        beside = {key: value for key, value in own.items() if key not in ("$ref", "allOf")}
        only = own.get("allOf")
        if isinstance(own.get("$ref"), str):
            target = _target(own["$ref"], root)
        elif isinstance(only, list) and len(only) == 1 and isinstance(only[0], dict):
            target = only[0]
        else:
            return own
        own = {**target, **beside}
    return own


def _target(reference: str, root: Schema) -> Schema:
    target: Any = root
    if not reference.startswith("#/"):
        return {}
    for key in steps(reference):
        target = target.get(key) if isinstance(target, dict) else None
    return target if isinstance(target, dict) else {}


def _without_null(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """``{"type": ["string", "null"]}`` and ``anyOf`` with null: the other one, and True."""
    types = schema.get("type")
    if isinstance(types, list) and types.count("null") == 1 and len(types) == 2:
        return {**schema, "type": next(each for each in types if each != "null")}, True
    choices = schema.get("anyOf")
    if isinstance(choices, list) and len(choices) == 2 and {"type": "null"} in choices:
        other = next((each for each in choices if each != {"type": "null"}), None)
        if isinstance(other, dict):
            beside = {key: value for key, value in schema.items() if key != "anyOf"}
            return {**followed(other, root), **beside}, True
    return schema, False
