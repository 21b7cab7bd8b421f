"""The state from before a run, and which parts of a later state repeat it."""

from collections.abc import Sequence
from typing import Any

from agui_host.protocol.patch import same

GONE: Any = object()
"""In place of a value that is left out."""
_NOTHING: Any = object()

Path = tuple[str, ...]


class Before:
    """What stood in the state when a run began. Falsy if that was nothing.

    A text, object or array that stood anywhere in it is not the run's own, wherever the run puts
    it; nor is a number or a truth value that has not changed, or a text that continues the earlier
    text in its place. An element of an array counts as a whole.
    """

    def __init__(self, state: Any = None) -> None:
        self._state = {} if state is None else state
        self._known: set[int] = set()
        _digest(self._state, self._known)

    def __bool__(self) -> bool:
        return self._state != {}

    def own(self, value: Any, path: Sequence[str] = ()) -> tuple[Any, set[Path]]:
        """What of a value at ``path`` is the run's own, or GONE; and the arrays that lost elements.

        The same object if that is all of it.
        """
        if not self:
            return value, set()
        cut: set[Path] = set()
        return self._own(value, self._at(path), list(path), cut)[0], cut

    def _at(self, path: Sequence[str]) -> Any:
        # The value at a path of members; elements of arrays move, so there is none to compare with.
        value = self._state
        for name in path:
            if value.__class__ is not dict or name not in value:
                return _NOTHING
            value = value[name]
        return value

    def _own(self, value: Any, at: Any, trail: list[str], cut: set[Path]) -> tuple[Any, int]:
        """The own part of a value, and the digest of all of it."""
        cls = value.__class__
        if cls is dict:
            return self._object(value, at, trail, cut)
        if cls is list:
            return self._array(value, at, trail, cut)
        key = _digest(value, None)
        if cls is str:
            repeats = key in self._known or (at.__class__ is str and at != "" and at in value)
        else:
            repeats = False
        return (GONE if repeats or same(value, at) else value), key

    def _object(
        self, value: dict[str, Any], at: Any, trail: list[str], cut: set[Path]
    ) -> tuple[Any, int]:
        own: dict[str, Any] = {}
        keys = []
        for name, part in value.items():
            trail.append(name)
            place = at.get(name, _NOTHING) if at.__class__ is dict else _NOTHING
            own[name], key = self._own(part, place, trail, cut)
            keys.append((name, key))
            trail.pop()
        whole = hash(frozenset(keys))
        if whole in self._known or (not value and at == value):
            return GONE, whole
        if all(own[name] is value[name] for name in value):
            return value, whole
        own = {name: part for name, part in own.items() if part is not GONE}
        return own or GONE, whole

    def _array(
        self, value: list[Any], at: Any, trail: list[str], cut: set[Path]
    ) -> tuple[Any, int]:
        places = at if at.__class__ is list else []
        known = {_digest(each, None) for each in places}
        own, keys = [], []
        for number, part in enumerate(value):
            trail.append(str(number))
            place = places[number] if number < len(places) else _NOTHING
            place = place if place.__class__ is str else _NOTHING
            left, key = self._own(part, place, trail, set())
            keys.append(key)
            trail.pop()
            if left is part and key not in known:
                own.append(part)
        whole = hash(tuple(keys))
        if whole in self._known or (not value and at == value):
            return GONE, whole
        if len(own) == len(value):
            return value, whole
        cut.add(tuple(trail))
        return own or GONE, whole


def _digest(value: Any, known: set[int] | None) -> int:
    """A number that equal values share; those of texts, objects and arrays are added to known."""
    cls = value.__class__
    if cls is dict:
        key = hash(frozenset((name, _digest(part, known)) for name, part in value.items()))
    elif cls is list:
        key = hash(tuple(_digest(part, known) for part in value))
    elif cls is str:
        key = hash(value)
    else:
        return hash((cls is bool, value))
    if known is not None and value:
        known.add(key)
    return key
