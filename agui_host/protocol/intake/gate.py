"""The gate: checks an agent's event against the schema as strictly as a stock client does.

Deviations that the spec tolerates are repaired here, so that no client has to: nulls of optional
fields are removed, and so are unknown fields and unknown members of unions (open objects keep
theirs); snake_case becomes camelCase. Events that a client would reject are refused. Two decisions
are our own:

- An event of an unknown type is wrapped as RAW. A stock client drops such an event; unlike CUSTOM,
  RAW does not end a message that is being sent in chunks, so the stream reads the same.
- A bad timestamp never fails a run: a fraction is rounded, one in another unit is scaled, anything
  else that is no time of today is dropped, and the host's clock fills in.
- Diagnostics never fail a run either, whatever they contain
  (``coerce.py``).
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from agui_host.protocol.encoding import clean_delta, clean_text
from agui_host.protocol.errors import RunErrorCode, RunFailed
from agui_host.protocol.intake.coerce import coerced, diagnosed, is_plain_data
from agui_host.protocol.intake.plain_delta import PlainDelta, plain_delta
from agui_host.protocol.legacy_events import THINKING, Legacy, unmirrored
from agui_host.protocol.schema import EVENTS
from agui_host.protocol.shapes import Choice, Field, Leaf, Many, Shape, Variants
from agui_host.protocol.values import (
    LEFT_OUT,
    MAX_SAFE_INTEGER,
    Malformed,
    Missing,
    fields_of,
    json_value,
    key_value,
    members_of,
    readable,
    stamp_value,
    text_value,
    time_of,
)

Mended = Callable[[str, str], object]

DROPPED = object()
"""Marks an unknown member of a union, which the spec strips."""

UNKNOWN = "unknown event type"
RAW_FIELDS = frozenset({"rawEvent", "raw_event"})
_IDENTIFIED = frozenset({"RUN_STARTED", "RUN_FINISHED"})
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
_BAD_ESCAPE = re.compile("~(?![01])")


class Gate:
    """The gate of one run.

    ``raw``: whether ``rawEvent`` and RAW stay. ``find`` is called with the rule and the action of
    each finding; without ``repair`` only what never fails a run is mended.
    """

    __slots__ = ("_clock", "_find", "_ids", "_mended", "_raw", "_repair", "_stamps", "legacy")

    def __init__(
        self,
        ids: Mapping[str, str],
        find: Mended,
        clock: Callable[[], float],
        *,
        repair: bool,
        raw: bool,
    ) -> None:
        self.legacy = Legacy(lambda: find("legacy", "translated"))
        self._ids = ids
        self._find = find
        self._clock = clock
        self._repair = repair
        self._mended = find if repair else None
        self._raw = raw
        self._stamps: set[str] = set()

    def read(self, event: Any) -> dict[str, Any] | None:
        """The event as ``gate`` returns it, its time checked; None if it is left out.

        Raises RunFailed(INVALID_EVENT).
        """
        if not self._raw:
            event = _without_raw(event)
        clean = gate(event, self._ids, self.legacy, self._unknown, self._mended, self._find)
        if not self._raw and clean["type"] == "RAW":
            return None
        if "timestamp" in clean:
            stamp = self.stamp(clean["timestamp"], self._clock())
            if stamp is None:
                del clean["timestamp"]
            else:
                clean["timestamp"] = stamp
        return clean

    def stamp(self, stamp: int, at: float) -> int | None:
        """A timestamp in milliseconds; None for a number that is no time near ``at``, in seconds.

        There is one finding for all that are scaled, and one for all that are dropped.
        """
        time = time_of(stamp, int(at * 1000))
        action = "dropped" if time is None else "translated"
        if time != stamp and action not in self._stamps:
            self._stamps.add(action)
            self._find("timestamp", action)
        return time

    def dump(self) -> dict[str, Any]:
        """What later events need to know of earlier ones, as JSON."""
        return {**self.legacy.dump(), "stamps": sorted(self._stamps)}

    def load(self, dumped: dict[str, Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.legacy.load(dumped)
        self._stamps = set(dumped.get("stamps", ()))

    def _unknown(self, kind: str) -> None:
        """Wrap an event of unknown type, or refuse it if the intake is strict."""
        if not self._repair:
            raise RunFailed(
                RunErrorCode.INVALID_EVENT, f"{kind[:80]}: AG-UI has no such event type."
            )
        self._find("unknown_type", "wrapped" if self._raw else "dropped")


def gate(
    event: Any,
    ids: Mapping[str, str] | None = None,
    legacy: Legacy | None = None,
    unknown: Callable[[str], object] = lambda kind: None,
    mended: Mended | None = None,
    note: Mended = lambda rule, action: None,
) -> dict[str, Any]:
    """The event as a new dict of wire names and plain JSON values.

    Takes mappings and pydantic models (the SDK's or others). ``ids`` replaces the threadId and
    runId of RUN_STARTED and RUN_FINISHED, whatever is in the event. ``legacy`` translates events of
    0.x; ``unknown`` is called with an unknown type, which is then wrapped, and can raise.
    ``mended`` is called with the rule and the action for each value whose meaning is clear but
    whose form is wrong: a type in another spelling, a number or an object instead of text.
    ``note`` is called likewise for diagnostics that are not JSON. A lone
    surrogate at the edge of a delta is left to ``Seams``. Raises RunFailed(INVALID_EVENT).
    """
    if (delta := plain_delta(event)) is not None:
        return _plain(delta)
    try:
        members = members_of(event)
        if mended is not None:
            members = _respelled(members, mended)
        return _checked(members, ids, legacy, unknown, mended, note)
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
    note: Mended,
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
            return {"type": "RAW", "event": _wrapped(members, note), "source": UNKNOWN}
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
    except Malformed:
        run = None if ids is None or legacy is None else (legacy, ids["runId"])
        checked = _mended(kind, members, run, mended, note)
    return {"type": kind} | checked


def _mended(
    kind: str,
    members: Mapping[Any, Any],
    run: tuple[Legacy, str] | None,
    mended: Mended | None,
    note: Mended,
) -> dict[str, Any]:
    """The event with its values as intended. Raises Malformed if it stays invalid."""
    members, action = diagnosed(kind, members)
    checked = refusal = _tried(kind, members)
    if isinstance(checked, Malformed) and mended is not None:
        if run is not None:
            members = run[0].completed(kind, members, run[1])
            checked = _tried(kind, members)
        if isinstance(checked, Malformed):
            checked = _tried(kind, coerced(kind, members))
            if not isinstance(checked, Malformed):
                mended("schema", "coerced")
    if isinstance(checked, Malformed):
        assert isinstance(refusal, Malformed)  # noqa: S101  for mypy
        refusal.path.append(kind)
        raise refusal
    if action is not None:
        note("json", action)
    return checked


def _tried(kind: str, members: Mapping[Any, Any]) -> dict[str, Any] | Malformed:
    try:
        checked: dict[str, Any] = _object(EVENTS[kind], members)
    except Malformed as bad:
        return bad
    return checked


def _wrapped(members: Mapping[Any, Any], note: Mended) -> Any:
    try:
        return json_value(members)
    except Malformed:
        note("json", "coerced")
        return readable(members)


def leave_raw_out(event: dict[str, Any]) -> bool:
    """Take the ``rawEvent``, or the content of RAW, out of an event; whether it had one."""
    if event["type"] == "RAW" and event["event"] != LEFT_OUT:
        event["event"] = LEFT_OUT
        return True
    return event.pop("rawEvent", None) is not None


def _without_raw(event: Any) -> Any:
    """The event without its ``rawEvent``, and RAW without its content, which is not read."""
    members = fields_of(event) if isinstance(event, BaseModel) else event
    if not isinstance(members, Mapping):
        return event
    rest = {key: value for key, value in members.items() if key not in RAW_FIELDS}
    if members.get("type") == "RAW":
        rest["event"] = None
    return event if len(rest) == len(members) and rest.get("type") != "RAW" else rest


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
        elif value is None and not field.required and field.kind is not Leaf.NULLABLE:
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
        case Leaf.JSON | Leaf.NULLABLE:
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
