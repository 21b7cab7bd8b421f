"""The gate: checks an agent's event against the schema as strictly as a stock client does.

What the spec says to tolerate is repaired here, so that no client has to: nulls of optional fields
are removed, and so are unknown fields and unknown members of unions (open objects keep theirs);
snake_case becomes camelCase. What a client would reject is refused. Two decisions are our own:

- An event of an unknown type is wrapped as RAW. A stock client drops such an event; unlike CUSTOM,
  RAW does not end a message that is being sent in chunks, so the stream reads the same.
- A bad timestamp never fails a run: a fraction is rounded, anything that is not a number is
  dropped, and the host's clock fills in.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from protocol.encoding import clean_delta, clean_text
from protocol.errors import RunErrorCode, RunFailed
from protocol.intake.coerce import coerced, is_plain_data
from protocol.intake.plain_delta import PlainDelta, plain_delta
from protocol.legacy_events import THINKING, Legacy, unmirrored
from protocol.schema import EVENTS
from protocol.shapes import Choice, Field, Leaf, Many, Shape, Variants
from protocol.values import (
    MAX_SAFE_INTEGER,
    Malformed,
    Missing,
    json_value,
    key_value,
    members_of,
    stamp_value,
    text_value,
)

Mended = Callable[[str, str], object]

DROPPED = object()
"""Marks an unknown member of a union, which the spec strips."""

_IDENTIFIED = frozenset({"RUN_STARTED", "RUN_FINISHED"})
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
_BAD_ESCAPE = re.compile("~(?![01])")


def gate(
    event: Any,
    ids: Mapping[str, str] | None = None,
    legacy: Legacy | None = None,
    unknown: Callable[[str], object] = lambda kind: None,
    mended: Mended | None = None,
) -> dict[str, Any]:
    """The event as a new dict of wire names and plain JSON values.

    Takes mappings and pydantic models (the SDK's or others). ``ids`` replaces the threadId and
    runId of RUN_STARTED and RUN_FINISHED, whatever the event says. ``legacy`` translates events of
    0.x; ``unknown`` is called with an unknown type, which is then wrapped, and may raise.
    ``mended`` is called with the rule and the action for each value whose meaning is clear but
    whose form is wrong: a type in another spelling, a number or an object instead of text. A lone
    surrogate at the edge of a delta is left to ``Seams``. Raises RunFailed(INVALID_EVENT).
    """
    if (delta := plain_delta(event)) is not None:
        return _plain(delta)
    try:
        members = members_of(event)
        if mended is not None:
            members = _respelled(members, mended)
        return _checked(members, ids, legacy, unknown, mended)
    except Malformed as bad:
        where = ".".join(reversed(bad.path))
        text = f"{where}: {bad.problem}" if where else bad.problem
        raise RunFailed(RunErrorCode.INVALID_EVENT, clean_text(text[:500])) from None


def _plain(delta: PlainDelta) -> dict[str, Any]:
    kind, key, name, text, stamp = delta
    clean: dict[str, Any] = {"type": kind, key: clean_text(name), "delta": clean_delta(text)}
    if stamp is not None:
        clean["timestamp"] = stamp
    return clean


def _checked(
    members: Mapping[Any, Any],
    ids: Mapping[str, str] | None,
    legacy: Legacy | None,
    unknown: Callable[[str], object],
    mended: Mended | None,
) -> dict[str, Any]:
    kind = members.get("type")
    if not isinstance(kind, str):
        raise Malformed("an event needs a 'type'")
    kind = clean_text(str.__str__(kind.value if isinstance(kind, Enum) else kind))
    known = EVENTS.get(kind)
    if known is None:
        modern = None if legacy is None else legacy.event(kind, members)
        if modern is None:
            unknown(kind)
            return {"type": "RAW", "event": json_value(members), "source": "unknown event type"}
        members, kind = modern, modern["type"]
        known = EVENTS[kind]
    if ids is not None and kind in _IDENTIFIED:
        members = {**members, **ids}
        if legacy is not None and kind == "RUN_FINISHED":
            members = legacy.ending(members, ids["runId"])
    if mended is not None and is_plain_data(kind, members):
        members = coerced(kind, members)
        mended("schema", "coerced")
    try:
        checked: dict[str, Any] = _object(known, members)
    except Malformed as bad:
        checked = _coerced(kind, members, bad, mended)
    return {"type": kind} | checked


def _coerced(
    kind: str, members: Mapping[Any, Any], bad: Malformed, mended: Mended | None
) -> dict[str, Any]:
    """The event with its values converted to what they mean. Raises ``bad`` if it stays invalid."""
    bad.path.append(kind)
    if mended is None:
        raise bad
    try:
        checked: dict[str, Any] = _object(EVENTS[kind], coerced(kind, members))
    except Malformed:
        raise bad from None
    mended("schema", "coerced")
    return checked


def _respelled(members: Mapping[Any, Any], mended: Mended) -> Mapping[Any, Any]:
    """Correct a type that is spelled in lower case, with hyphens or in camel case."""
    kind = members.get("type")
    if kind.__class__ is not str or kind in EVENTS:
        return members
    spelled = _WORDS.sub("_", kind).upper()
    if spelled == kind or not (spelled in EVENTS or spelled in THINKING):
        return members
    mended("unknown_type", "translated")
    return {**members, "type": spelled}


def _object(shape: Shape, members: Mapping[Any, Any]) -> Any:
    checked_members: dict[str, Any] = {}
    for key, value in members.items():
        field = shape.fields.get(key)
        if field is None:
            if shape.open:
                checked_members[key_value(key)] = json_value(value)
            continue
        if key != field.name and field.name in members:
            continue
        if value.__class__ is str and field.kind is Leaf.TEXT:
            checked: Any = clean_text(value)
        elif value.__class__ is str and field.kind is Leaf.DELTA:
            checked = clean_delta(value)
        elif value is None and not field.required:
            continue
        else:
            checked = _described(field, value)
        if checked is not DROPPED:
            checked_members[field.name] = checked
        elif field.required:
            return DROPPED
    for name in shape.required:
        if name not in checked_members:
            if name not in shape.defaults:
                raise Missing(name)
            checked_members[name] = shape.defaults[name]
    return checked_members


def _described(field: Field, value: Any) -> Any:
    try:
        return value_of(field.kind, value)
    except Malformed as bad:
        bad.path.append(field.name)
        raise


def value_of(kind: Any, value: Any) -> Any:
    """``value`` as the kind requires it; DROPPED if the spec strips it. Raises Malformed."""
    match kind:
        case Leaf.TEXT | Leaf.DELTA:
            return text_value(value)
        case Leaf():
            return _leaf(kind, value)
        case Choice():
            chosen = text_value(value.value if isinstance(value, Enum) else value)
            if chosen not in kind.values:
                raise Malformed(f"must be one of {', '.join(sorted(kind.values))}")
            return chosen
        case Many():
            return _many(kind, value)
        case Variants():
            members = members_of(value)
            tag = members.get(kind.tag)
            if isinstance(tag, str) and tag in kind.legacy:
                members = kind.legacy[tag](members)
                tag = members.get(kind.tag)
            shape = kind.shapes.get(tag) if isinstance(tag, str) else None
            return DROPPED if shape is None else _object(shape, members)
    return _object(kind, members_of(value))


def _many(kind: Many, value: Any) -> Any:
    if kind.or_text and isinstance(value, str):
        return text_value(value)
    if not isinstance(value, list | tuple):
        raise Malformed("must be a string or a list" if kind.or_text else "must be a list")
    parts: list[Any] = []
    translated: list[Any] = []
    for index, entry in enumerate(value):
        try:
            checked = value_of(kind.of, entry)
        except Malformed as bad:
            bad.path.append(str(index))
            raise
        if checked is not DROPPED:
            parts.append(checked)
            if _is_legacy(kind.of, entry):
                translated.append(checked)
    if translated:
        parts = unmirrored(parts, translated)
    if len(parts) < kind.least:
        raise Malformed("must not be empty")
    return parts


def _is_legacy(kind: Any, entry: Any) -> bool:
    if not isinstance(kind, Variants) or not kind.legacy:
        return False
    return members_of(entry).get(kind.tag) in kind.legacy


def _is_pointer(text: str) -> bool:
    return not text or (text[0] == "/" and not _BAD_ESCAPE.search(text))


def _leaf(kind: Leaf, value: Any) -> Any:
    match kind:
        case Leaf.JSON:
            return json_value(value)
        case Leaf.OBJECT:
            return json_value(members_of(value))
        case Leaf.STAMP:
            stamp = stamp_value(value)
            return DROPPED if stamp is None else stamp
        case Leaf.BOOL if isinstance(value, bool):
            return value
        case Leaf.COUNT if isinstance(value, int) and not isinstance(value, bool):
            if 0 <= value <= MAX_SAFE_INTEGER:
                return int(value)
        case Leaf.POINTER if _is_pointer(pointer := text_value(value)):
            return pointer
    raise Malformed(_WANTED[kind])


_WANTED = {
    Leaf.BOOL: "must be true or false",
    Leaf.COUNT: "must be an integer of 0 or more",
    Leaf.POINTER: "must be a JSON Pointer",
}
