"""Converts values of an agent to text where nothing else can be meant: numbers and objects.

These are an id that is a number, a tool's result or arguments given as an object instead of its
JSON text, text parts where only text is allowed, and values that are not JSON inside of open
members.

| field | what is not JSON in it | policy |
| --- | --- | --- |
| ``rawEvent`` | the field is left out | both |
| RAW's ``event``, CUSTOM's ``value``, ``metadata`` | its text | both |
| state, patches, results, other open values | its text | ``repair`` |
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agui_host.protocol.schema import EVENTS
from agui_host.protocol.shapes import Leaf, Many, Shape, Variants
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.values import Malformed, json_value, members_of, readable

_ARGUMENTS = frozenset({"TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"})
"""Events whose ``delta`` is JSON text, so that an object can only mean its text."""

_OPEN = {"RAW": "event", "CUSTOM": "value"}
"""Diagnostics: members of any form that are not part of an answer."""

Members = Mapping[Any, Any]


def diagnosed(kind: str, members: Members) -> tuple[Members, str | None]:
    """An event whose diagnostics are JSON, and the action that made them so, if there was one."""
    converted, action = dict(members), None
    for key, value in members.items():
        field = EVENTS[kind].fields.get(key)
        name = None if field is None else field.name
        if name not in ("rawEvent", "metadata", _OPEN.get(kind)) or _is_json(value):
            continue
        if name == "rawEvent":
            del converted[key]
            action = action or "dropped"
        elif name != "metadata" or _is_object(value):
            converted[key], action = readable(value), "coerced"
    return converted, action


def coerced(kind: str, members: Members) -> Members:
    """The members of an event of this type, with text where text is required."""
    converted = _object(EVENTS[kind], members)
    if kind in _ARGUMENTS and _is_structure(members.get("delta")):
        converted["delta"] = _json(members["delta"])
    return converted


def is_plain_data(kind: str, members: Members) -> bool:
    """Whether a tool's result is a list of data that contains no content part.

    The schema alone would take the entries for unknown parts and silently drop them.
    """
    content = members.get("content")
    if kind != "TOOL_CALL_RESULT" or not isinstance(content, list | tuple) or not content:
        return False
    return not all(_tag(entry) for entry in content)


def _object(shape: Shape, members: Members) -> dict[Any, Any]:
    converted = dict(members)
    for key, value in members.items():
        field = shape.fields.get(key)
        if field is not None and value is not None:
            structured = field.name == "arguments" and _is_structure(value)
            converted[key] = _json(value) if structured else _value(field.kind, value)
        elif field is not None and isinstance(field.kind, Many) and field.kind.or_text:
            converted[key] = _json(value)  # the tool returned nothing
    return converted


def _value(kind: Any, value: Any) -> Any:
    match kind:
        case Leaf.TEXT | Leaf.DELTA:
            return _text(value)
        case Leaf.JSON | Leaf.NULLABLE:
            return readable(value)
        case Leaf.OBJECT if _is_object(value):
            return readable(value)
        case Many(or_text=True):
            return _content(kind, value)
        case Many() if isinstance(value, list | tuple):
            return [_value(kind.of, entry) for entry in value]
        case Variants() if _is_object(value):
            members = members_of(value)
            tag = members.get(kind.tag)
            shape = kind.shapes.get(tag) if isinstance(tag, str) else None
            return members if shape is None else _object(shape, members)
        case Shape() if _is_object(value):
            return _object(kind, members_of(value))
    return value


def _text(value: Any) -> Any:
    """A number as its digits, text parts as their text; everything else unchanged."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list | tuple) and value:
        texts = [str(members_of(part).get("text", "")) for part in value if _tag(part) == "text"]
        if len(texts) == len(value):
            return "".join(texts)
    return value


def _content(kind: Many, value: Any) -> Any:
    """Text or content parts: a single part becomes a list of one, other data its JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        if all(_tag(entry) for entry in value):
            return [_value(kind.of, entry) for entry in value]
        return _json(value)
    if _tag(value) in kind.of.shapes:
        return [_value(kind.of, value)]
    return _json(value)


def _tag(entry: Any) -> str:
    tag = members_of(entry).get("type") if _is_object(entry) else None
    return tag if isinstance(tag, str) else ""


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping | BaseModel)


def _is_structure(value: Any) -> bool:
    return _is_object(value) or isinstance(value, list | tuple)


def _is_json(value: Any) -> bool:
    try:
        json_value(value)
    except (Malformed, RecursionError):
        return False
    return True


def _json(value: Any) -> str:
    return dumps(readable(value))
