"""Converts values of an agent to text where nothing else can be meant: numbers and objects.

These are an id that is a number, a tool's result or arguments given as an object instead of its
JSON text, and text parts where only text is allowed.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from protocol.schema import EVENTS
from protocol.shapes import Leaf, Many, Shape, Variants
from protocol.strict_json import dumps
from protocol.values import Malformed, json_value, members_of

_ARGUMENTS = frozenset({"TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"})
"""Events whose ``delta`` is JSON text, so that an object can only mean its text."""

Members = Mapping[Any, Any]


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


def _json(value: Any) -> Any:
    try:
        return dumps(json_value(value))
    except (Malformed, RecursionError):
        return value
