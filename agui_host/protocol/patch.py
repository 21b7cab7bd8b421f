"""JSON Patch (RFC 6902), applied in place: the effect of a STATE_DELTA or an ACTIVITY_DELTA.

Where the RFC and ``fast-json-patch`` 3, which the stock client uses, disagree, a patch fails: a
patch that applies here applies there, with the same result. So ``__proto__`` and
``constructor/prototype`` are refused, and the target of a ``move`` must also exist beforehand.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_host.protocol.pointer import steps
from agui_host.protocol.strict_json import size_of

MAX_COPIED = 1_000_000
"""How many values one patch may copy: a few copies of the root would each double the document."""
MAX_DUPLICATED = 150_000
"""How many values its ``copy`` operations may copy: 30 ms. An object or array counts as three."""
MAX_GROWTH = 10 * 1024 * 1024
"""By how many characters of JSON the ``copy`` operations of one patch may enlarge the document."""
MAX_SHIFTED = 10_000_000
"""How many array elements its insertions and removals may shift: 20 ms."""
SHIFTED_PER_UNIT = 64
"""Array elements that can be shifted in the time in which one value is copied."""
MAX_STEPS = 100
"""Steps of a path; a value of 100 levels at its end stays within MAX_DEPTH."""
MAX_DEPTH = 200


Undo = list[tuple[Callable[..., Any], tuple[Any, ...]]]


class PatchFailed(Exception):
    """The patch does not apply to this document, which is unchanged.

    ``work`` is the number of units that the attempt has cost.
    """

    work = 0


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """The document after ``operations``: all of them or none.

    Changes ``document`` in place and returns it, or the new root if the root was replaced. Values
    of the operations are copied, so that they share nothing with the document. Raises PatchFailed,
    in which case ``document`` is unchanged.
    """
    return grown(document, operations)[0]


def grown(
    document: Any,
    operations: Iterable[Mapping[str, Any]],
    kind: type = object,
    undo: Undo | None = None,
) -> tuple[Any, int, int]:
    """Like ``apply``; also returns the growth and the work.

    The growth is the number of characters of JSON that ``copy`` operations added, the work the
    number of values copied, plus a unit for each 64 array elements shifted and for each operation.

    A patch that makes the root anything but a ``kind`` fails. The way back is added to ``undo``:
    calls to make in reverse order.
    """
    patch = _Patch()
    try:
        for operation in operations:
            document = patch.step(document, operation)
        if not isinstance(document, kind):
            raise PatchFailed(f"the content would no longer be {_NAMES[kind]}")
    except RecursionError:
        raise patch.undone(PatchFailed("nested too deep")) from None
    except PatchFailed as failed:
        # No name of this frame, which its traceback holds, may remain its name.
        raise patch.undone(failed) from None
    if undo is not None:
        undo += patch.undo
    return document, patch.growth, patch.work


def completed(
    document: Any, operations: Iterable[Mapping[str, Any]], kind: type = object
) -> tuple[list[dict[str, Any]] | None, int]:
    """The patch with an ``add`` for each ``replace`` of something missing, and the work of that.

    None if the patch does not apply in that form either. The document is unchanged.
    """
    patch, complete = _Completing(), []
    try:
        for operation in operations:
            patch.is_addition = False
            document = patch.step(document, operation)
            complete.append({**operation, "op": "add"} if patch.is_addition else {**operation})
        applies = isinstance(document, kind)
    except (PatchFailed, RecursionError):
        applies = False
    for reverse, arguments in reversed(patch.undo):
        reverse(*arguments)
    return complete if applies else None, 2 * patch.work


class _Patch:
    """One patch while it is applied: how to undo its steps, and the amount of work so far."""

    __slots__ = ("copied", "duplicated", "growth", "shifted", "steps", "undo")

    def __init__(self) -> None:
        self.undo: Undo = []
        self.copied = self.duplicated = self.growth = self.shifted = self.steps = 0

    def undone(self, failed: PatchFailed) -> PatchFailed:
        """Go back to the document as it was; the exception, with the work of both ways."""
        for reverse, arguments in reversed(self.undo):
            reverse(*arguments)
        failed.work = 2 * self.work
        return failed

    @property
    def work(self) -> int:
        """The units of work so far."""
        return self.steps + self.copied + self.duplicated + self.shifted // SHIFTED_PER_UNIT

    def step(self, root: Any, operation: Mapping[str, Any]) -> Any:
        """Apply one operation; returns the new root."""
        self.steps += 1
        kind, keys = operation.get("op"), _keys(operation.get("path"))
        match kind:
            case "add":
                return self.add(root, keys, self.fresh(_value(operation)))
            case "replace":
                return self.replace(root, keys, self.fresh(_value(operation)))
            case "remove":
                return self.remove(root, keys)[0]
            case "test":
                if same(_find(root, keys), _value(operation)):
                    return root
                raise PatchFailed(f"test: the value at {_shown(keys)} differs")
            case "copy":
                return self.copy(root, _keys(operation.get("from")), keys)
            case "move":
                return self.move(root, _keys(operation.get("from")), keys)
        raise PatchFailed(f"unknown operation {kind!r}")

    def add(self, root: Any, keys: list[str], value: Any) -> Any:
        if not keys:
            return value
        parent, key = _find(root, keys[:-1]), keys[-1]
        if parent.__class__ is dict:
            self._set(parent, key, value)
        elif parent.__class__ is list:
            at = len(parent) if key == "-" else _index(key)
            if at > len(parent):
                raise PatchFailed(f"there is nothing at {_shown(keys)}")
            self._shift(parent, at)
            parent.insert(at, value)
            self.undo.append((parent.pop, (at,)))
        else:
            raise PatchFailed(f"there is no object or array at {_shown(keys[:-1])}")
        return root

    def replace(self, root: Any, keys: list[str], value: Any) -> Any:
        if not keys:
            return value
        parent = _find(root, keys[:-1])
        at = _place(parent, keys)
        self._set(parent, at, value)
        return root

    def remove(self, root: Any, keys: list[str]) -> tuple[Any, Any]:
        """The new root, and the removed value."""
        if not keys:
            return None, root
        parent = _find(root, keys[:-1])
        at = _place(parent, keys)
        if parent.__class__ is list:
            self._shift(parent, at)
        value = parent.pop(at)
        back = parent.insert if parent.__class__ is list else parent.__setitem__
        self.undo.append((back, (at, value)))
        return root, value

    def copy(self, root: Any, source: list[str], target: list[str]) -> Any:
        value = _find(root, source)
        self.duplicated += _count(value, MAX_DUPLICATED - self.duplicated)
        if self.duplicated > MAX_DUPLICATED:
            raise PatchFailed("the patch copies too much")
        self.growth += size_of(value)
        if self.growth > MAX_GROWTH:
            raise PatchFailed("the patch copies too much")
        _check_depth(value, len(target))
        return self.add(root, target, self.fresh(value))

    def move(self, root: Any, source: list[str], target: list[str]) -> Any:
        if source == target[: len(source)] and len(source) < len(target):
            raise PatchFailed("a value cannot move into itself")
        if not target:
            return _find(root, source)
        parent = _find(root, target[:-1])
        if parent.__class__ is list and target[-1] != "-":
            _index(target[-1])
        elif parent.__class__ is not list and parent.__class__ is not dict:
            raise PatchFailed(f"there is no object or array at {_shown(target[:-1])}")
        root, value = self.remove(root, source)
        if len(target) > len(source):
            _check_depth(value, len(target))
        return self.add(root, target, value)

    def fresh(self, value: Any) -> Any:
        cls = value.__class__
        if cls is not dict and cls is not list:
            return value
        self.copied += len(value)
        if self.copied > MAX_COPIED:
            raise PatchFailed("the patch copies too much")
        fresh = self.fresh
        if cls is dict:
            return {key: fresh(part) for key, part in value.items()}
        return [fresh(part) for part in value]

    def _shift(self, array: list[Any], at: int) -> None:
        self.shifted += len(array) - at
        if self.shifted > MAX_SHIFTED:
            raise PatchFailed("the patch shifts too many array elements")

    def _set(self, parent: Any, key: Any, value: Any) -> None:
        if parent.__class__ is dict and key not in parent:
            self.undo.append((parent.pop, (key,)))
        else:
            self.undo.append((parent.__setitem__, (key, parent[key])))
        parent[key] = value


class _Completing(_Patch):
    """A patch whose ``replace`` may add; ``is_addition`` is about its latest operation."""

    __slots__ = ("is_addition",)

    def replace(self, root: Any, keys: list[str], value: Any) -> Any:
        try:
            return super().replace(root, keys, value)
        except PatchFailed:
            self.is_addition = True
            return self.add(root, keys, value)


_NAMES: Mapping[type, str] = {dict: "an object"}


def _count(value: Any, most: int) -> int:
    """The values of a JSON value, an object or array as three; stops above ``most``."""
    level, total = [value], 0
    while level and total <= most:
        part = level.pop()
        if part.__class__ in _CONTAINERS:
            total += 3 + len(part)
            if total > most:
                break
            parts = part.values() if part.__class__ is dict else part
            level += [each for each in parts if each.__class__ in _CONTAINERS]
    return total


def _check_depth(value: Any, above: int) -> None:
    """Refuse a value that would be nested too deep below that many steps; without recursion."""
    level = [value]
    while level:
        if (above := above + 1) > MAX_DEPTH:
            raise PatchFailed("nested too deep")
        below: list[Any] = []
        for part in level:
            if part.__class__ is dict:
                below += [each for each in part.values() if each.__class__ in _CONTAINERS]
            elif part.__class__ is list:
                below += [each for each in part if each.__class__ in _CONTAINERS]
        level = below


_CONTAINERS = (dict, list)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 equals 1.0, but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _keys(pointer: Any) -> list[str]:
    """The steps of a JSON Pointer; none for the root."""
    if pointer == "":
        return []
    if not isinstance(pointer, str) or pointer[0] != "/":
        raise PatchFailed(f"{pointer!r} is not a JSON Pointer")
    if pointer.count("/") > MAX_STEPS:
        raise PatchFailed(f"a path has more than {MAX_STEPS} steps")
    keys = steps(pointer)
    if "__proto__" in keys or ("prototype" in keys and "constructor" in keys):
        raise PatchFailed(f"{pointer} is not safe in JavaScript")
    return keys


def _find(document: Any, keys: list[str]) -> Any:
    """The value at the path ``keys``."""
    for depth, key in enumerate(keys):
        if document.__class__ is dict and key in document:
            document = document[key]
        else:
            document = document[_place(document, keys[: depth + 1])]
    return document


def _place(parent: Any, keys: list[str]) -> Any:
    """The last of ``keys`` as the key or index of an existing value in ``parent``."""
    key = keys[-1]
    if parent.__class__ is dict and key in parent:
        return key
    if parent.__class__ is list and (index := _index(key)) < len(parent):
        return index
    raise PatchFailed(f"there is nothing at {_shown(keys)}")


def _index(key: str) -> int:
    if key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 16:
        return int(key)
    raise PatchFailed(f"{key!r} is not an index")


def _value(operation: Mapping[str, Any]) -> Any:
    try:
        return operation["value"]
    except KeyError:
        raise PatchFailed("the operation lacks its value") from None


def _shown(keys: list[str]) -> str:
    return "/" + "/".join(keys) if keys else "the root"
