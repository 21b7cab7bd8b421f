"""``ctx.state``: behaves like dicts and lists, and sends the client every change.

Every change becomes one JSON Patch operation (RFC 6902) in a STATE_DELTA; several changes inside
``batch()`` share one. Values are copied in and out, so nothing changes unnoticed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from contextlib import contextmanager
from typing import Any

from agui_host.protocol.pointer import pointer

Path = tuple[str | int, ...]
ABSENT: Any = object()


def plain(value: Any) -> Any:
    """A deep copy made of dict, list and JSON scalars; TypeError for anything else."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Part):
        return plain(value.data)
    if isinstance(value, Mapping):
        return {_key(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    raise TypeError(f"state holds JSON values only, not {type(value).__name__}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys of the state are strings, not {type(key).__name__}")
    return key


class State:
    """The state of one run, and the client's copy of it.

    ``known``: the client starts from the same value, so the first change can be a delta.
    """

    def __init__(self, value: Any, emit: Callable[[dict[str, Any]], None], *, known: bool) -> None:
        self.value = plain(value)
        self._emit = emit
        self._known = known
        self._batch: list[dict[str, Any]] | None = None

    def root(self) -> "StateMap | StateList":
        """The view an agent works with; a state that is not a container reads as an empty map."""
        if not isinstance(self.value, dict | list):
            self.value, self._known = {}, False
        return StateList(self, ()) if isinstance(self.value, list) else StateMap(self, ())

    def at(self, path: Path) -> Any:
        """The value at ``path`` now; ABSENT if the path does not exist."""
        value = self.value
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def tell(self, op: str, path: Path, value: Any = ABSENT) -> None:
        """Report a change that was just made."""
        change = {"op": op, "path": pointer(path)}
        if value is not ABSENT:
            change["value"] = plain(value)
        if not self._known:
            self.snapshot()
        elif self._batch is not None:
            self._batch.append(change)
        else:
            self._emit({"type": "STATE_DELTA", "delta": [change]})

    def replace(self, value: Any) -> None:
        """Replace the whole state by ``value``, with a STATE_SNAPSHOT."""
        self.value = plain(value)
        self.snapshot()

    def snapshot(self) -> None:
        """Send the whole state."""
        self._known = True
        if self._batch:
            self._batch.clear()  # The snapshot contains every change.
        self._emit({"type": "STATE_SNAPSHOT", "snapshot": plain(self.value)})

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Changes inside are sent together, at the end."""
        if self._batch is not None:
            yield
            return
        self._batch = []
        try:
            yield
        finally:
            changes, self._batch = self._batch, None
            if changes:
                self._emit({"type": "STATE_DELTA", "delta": changes})


class Part:
    """A view of one container of the state, at its path."""

    def __init__(self, state: State, path: Path) -> None:
        self._state = state
        self._path = path
        self._data = state.at(path)

    @property
    def data(self) -> Any:
        """The container itself; for reading."""
        return self._data if self._path else self._state.value

    def copy(self) -> Any:
        """This part as plain dicts and lists."""
        return plain(self.data)

    def replace(self, value: Any) -> None:
        """Replace this part by ``value``; for the whole state with a STATE_SNAPSHOT."""
        if not self._path:
            self._state.replace(value)
            return
        self._changeable()
        parent, name = self._state.at(self._path[:-1]), self._path[-1]
        parent[name] = self._data = plain(value)
        self._state.tell("replace", self._path, self._data)

    def batch(self) -> Any:
        """``with ctx.state.batch():`` sends all changes made inside as one STATE_DELTA."""
        return self._state.batch()

    def _changeable(self) -> Any:
        # The container, if this view was made for it; otherwise a patch could hit another.
        if self._path and self._state.at(self._path) is not self._data:
            raise RuntimeError(f"the state at {pointer(self._path)} was replaced; read it again")
        return self.data

    def _view(self, name: str | int, value: Any) -> Any:
        if isinstance(value, dict):
            return StateMap(self._state, (*self._path, name))
        if isinstance(value, list):
            return StateList(self._state, (*self._path, name))
        return value

    def __eq__(self, other: object) -> bool:
        return bool(self.data == (other.data if isinstance(other, Part) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.data)

    def __len__(self) -> int:
        return len(self.data)


class StateMap(Part, MutableMapping[str, Any]):
    """An object of the state."""

    def __getitem__(self, key: str) -> Any:
        return self._view(key, self.data[key])

    def __setitem__(self, key: str, value: Any) -> None:
        data = self._changeable()
        if isinstance(value, Part) and value.data is data.get(key):
            return  # the second half of ``state["list"] += [...]``
        op = "replace" if _key(key) in data else "add"
        data[key] = plain(value)
        self._state.tell(op, (*self._path, key), data[key])

    def __delitem__(self, key: str) -> None:
        del self._changeable()[key]
        self._state.tell("remove", (*self._path, key))

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """As ``dict.setdefault``; returns a view, so that changes of the default are noticed."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As ``dict.update``, in one STATE_DELTA."""
        with self._state.batch():
            super().update(*args, **kwargs)


class StateList(Part, MutableSequence[Any]):
    """An array of the state."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return plain(self.data[index])
        at = self._index(index)
        return self._view(at, self.data[at])

    def __setitem__(self, index: Any, value: Any) -> None:
        data = self._changeable()
        if isinstance(index, slice):
            data[index] = plain(list(value))
            self._state.tell("replace", self._path, data)
            return
        at = self._index(index)
        if isinstance(value, Part) and value.data is data[at]:
            return
        data[at] = plain(value)
        self._state.tell("replace", (*self._path, at), data[at])

    def __delitem__(self, index: Any) -> None:
        data = self._changeable()
        if isinstance(index, slice):
            del data[index]
            self._state.tell("replace", self._path, data)
            return
        at = self._index(index)
        del data[at]
        self._state.tell("remove", (*self._path, at))

    def insert(self, index: int, value: Any) -> None:
        """As ``list.insert``."""
        data = self._changeable()
        at = min(max(index + len(data) if index < 0 else index, 0), len(data))
        data.insert(at, plain(value))
        self._state.tell("add", (*self._path, at), data[at])

    def extend(self, values: Iterable[Any]) -> None:
        """As ``list.extend``, in one STATE_DELTA."""
        with self._state.batch():
            super().extend(list(values))  # It can be this very list.

    def _index(self, index: int) -> int:
        at = index + len(self.data) if index < 0 else index
        if not 0 <= at < len(self.data):
            raise IndexError("state index out of range")
        return at
