"""Redaction: which values of an event a link's readers do not see, wherever they occur.

A path is member names joined by dots, ``password`` or ``customer.email``. It hides every member
that is reached by these names, however deep, in any JSON that an event carries, including JSON
inside the text of an argument, a result or a message. A name can contain dots itself: that path
hides a member called ``customer.email`` as well. Array positions, and members whose name is a
number, are skipped. The top of a document is named after it: ``state``, ``result``, ``metadata``,
the name of a tool (arguments and results, also of a call that an approval's data describes), of a
CUSTOM event, the type of an activity. No Django, no I/O.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agui_host.protocol.pointer import steps
from agui_host.protocol.strict_json import dumps_any

MASK = "[redacted]"
ANY = "*"
"""In a trail: an unknown name, which can be any."""
MOST_PATHS = 50

Trail = tuple[str, ...]

_MEMBERS = {
    **dict.fromkeys(("add", "replace", "test"), frozenset({"op", "path", "value"})),
    **dict.fromkeys(("move", "copy"), frozenset({"op", "path", "from"})),
    "remove": frozenset({"op", "path"}),
}
"""The members of a JSON Patch operation."""
_LOOKED_INTO = (str, dict, list)
_CALLED = ("name", "action", "action_name", "tool", "toolName", "tool_name", "toolCallName")
_ARGUMENTS = frozenset(
    {"args", "arguments", "input", "parameters", "params", "toolArgs", "tool_args"}
)


class BadPath(ValueError):
    """A redaction path is not member names joined by dots."""


class Redaction:
    """The paths of one grant. Raises BadPath. Falsy without any."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.paths = [tuple(path.split(".")) for path in paths]
        if len(self.paths) > MOST_PATHS:
            raise BadPath(f"At most {MOST_PATHS} paths.")
        for names in self.paths:
            if any(not name.isprintable() or not name or name.isdigit() for name in names):
                raise BadPath("A path is member names joined by dots: customer.email.")

    def __bool__(self) -> bool:
        return bool(self.paths)

    def hides(self, trail: Trail) -> bool:
        """Whether the value at this trail is hidden."""
        return any(
            _spells(trail[-count:], path)
            for path in self.paths
            if trail[-1] == ANY or trail[-1].endswith(path[-1])
            for count in range(1, min(len(trail), len(path)) + 1)
        )

    def hides_above(self, trail: Trail) -> bool:
        """Whether that value, or a value that contains it, is hidden."""
        return any(self.hides(trail[:end]) for end in range(1, len(trail) + 1))

    def value(self, value: Any, trail: Trail = ()) -> Any:
        """A JSON value as a link's reader sees it; the same object if nothing is hidden."""
        if not self.paths:
            return value
        if trail and self.hides(trail):
            return MASK
        if value.__class__ is dict:
            visible = {name: self.value(part, step(trail, name)) for name, part in value.items()}
            if (tool := _tool_called(value)) is not None:
                visible = {name: self._of_call(name, part, tool) for name, part in visible.items()}
            return value if all(visible[name] is value[name] for name in visible) else visible
        if value.__class__ is list:
            # Array elements share the array's trail, so nothing hides a number among them.
            parts = [
                self.value(part, trail) if part.__class__ in _LOOKED_INTO else part
                for part in value
            ]
            return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
        return self.text(value, trail) if value.__class__ is str else value

    def _of_call(self, name: str, part: Any, tool: str) -> Any:
        """A member of a call that data describes, as approvals do: its arguments are the tool's.

        Descriptions repeat arguments in words, so a text that mentions a path is hidden.
        """
        if name in _ARGUMENTS:
            return self.value(part, (tool,))
        if part.__class__ is not str or name in _CALLED:
            return part
        return self.text(part, (tool,), strict=True)

    def text(self, text: str, trail: Trail = (), *, strict: bool = False) -> str:
        """A text, which can be JSON. Broken JSON is hidden if it mentions a path.

        ``strict``: so is any other text that mentions one (Python's ``repr`` of an argument,
        say).
        """
        if not self.paths:
            return text
        if trail and self.hides(trail):
            return MASK
        if looks_like_json(text):
            try:
                return self._json(text, trail)
            except (ValueError, RecursionError):
                strict = True
        return MASK if strict and self.mentions(text) else text

    def arguments(self, text: str, tool: str) -> str:
        """The arguments of a call, which are JSON; anything else is hidden."""
        if not self.paths or not text:
            return text
        if self.hides((tool,)):
            return dumps_any(MASK)
        try:
            return self._json(text, (tool,))
        except (ValueError, RecursionError):
            return dumps_any(MASK)

    def mentions(self, text: str) -> bool:
        """Whether the last name of a path occurs in a text, or can occur spelled with escapes."""
        return "\\u" in text or any(path[-1] in text for path in self.paths)

    def _json(self, text: str, trail: Trail) -> str:
        doubled = False

        def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
            nonlocal doubled
            made_object = dict(members)
            # the text contains a member that the value has lost
            doubled = doubled or len(made_object) < len(members)
            return made_object

        value = json.loads(text, object_pairs_hook=pairs)
        visible = self.value(value, trail)
        return text if visible is value and not doubled else dumps_any(visible)


def _tool_called(value: Mapping[str, Any]) -> str | None:
    """The tool's name, if a JSON object describes a call of it."""
    if _ARGUMENTS.isdisjoint(value):
        return None
    names = (value[name] for name in _CALLED if name in value)
    return next((name for name in names if name.__class__ is str and name), None)


def looks_like_json(text: str) -> bool:
    """Whether a text begins like an object, an array or a quoted string."""
    return text.lstrip()[:1] in ("{", "[", '"') if text else False


def step(trail: Trail, name: str) -> Trail:
    """The trail one member further; array positions and numeric names do not count."""
    return trail if name.isdigit() or name == "-" else (*trail, name)


def pointer(trail: Trail, path: str) -> Trail:
    """The trail extended by a JSON pointer."""
    for name in steps(path):
        trail = step(trail, name)
    return trail


def plain(patch: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """A patch without members that mean nothing in its operations; the same object if it has none.

    Redaction reads paths and values only, and a client ignores the rest.
    """
    if all(operation.keys() <= _MEMBERS[operation["op"]] for operation in patch):
        return patch
    return [
        {name: part for name, part in operation.items() if name in _MEMBERS[operation["op"]]}
        for operation in patch
    ]


def touches(redaction: Redaction, patch: Sequence[Mapping[str, Any]], trail: Trail) -> bool:
    """Whether a patch touches hidden values; then a snapshot replaces it."""
    for operation in patch:
        if operation["op"] not in ("add", "replace", "remove"):
            return True
        at = pointer(trail, operation["path"])
        if redaction.hides_above(at):
            return True
        value = operation.get("value")
        if redaction.value(value, at) is not value:
            return True
    return False


def _spells(names: Trail, path: Trail) -> bool:
    """Whether these names, some of which can contain dots, joined by dots are the path."""
    if not names:
        return not path
    if names[0] == ANY:
        return any(_spells(names[1:], path[count:]) for count in range(1, len(path) + 1))
    parts = tuple(names[0].split("."))
    return path[: len(parts)] == parts and _spells(names[1:], path[len(parts) :])
