"""The patches of ``ctx.state`` say exactly what was done to it."""

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.runtimes.context.state import State

KEYS = st.sampled_from(["a", "b", "", "a/b", "m~n", "0", "é"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def tracked(value: Any, known: bool = True) -> tuple[State, list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    return State(value, events.append, known=known), events


def state_of(start: Any, events: list[dict[str, Any]]) -> Any:
    """What a client has after these events."""
    value = start
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            value = event["snapshot"]
        else:
            value = jsonpatch.apply_patch(value, event["delta"])
    return value


def containers(view: Any) -> list[Any]:
    """The view and every view inside it."""
    inner = view.values() if hasattr(view, "values") else view
    return [view, *(c for part in inner if hasattr(part, "data") for c in containers(part))]


def change(view: Any, data: st.DataObject) -> None:
    """One random change through one view."""
    value = data.draw(VALUES)
    if hasattr(view, "keys"):
        match data.draw(st.sampled_from(["set", "del", "update", "setdefault", "pop", "clear"])):
            case "set":
                view[data.draw(KEYS)] = value
            case "del" if len(view):
                del view[data.draw(st.sampled_from(sorted(view)))]
            case "update":
                view.update({"a": value, "b": value})
            case "setdefault":
                view.setdefault(data.draw(KEYS), value)
            case "pop":
                view.pop(data.draw(KEYS), None)
            case "clear":
                view.clear()
        return
    at = data.draw(st.integers(-5, 5))
    match data.draw(st.sampled_from(["append", "insert", "set", "del", "extend", "slice", "rev"])):
        case "append":
            view.append(value)
        case "insert":
            view.insert(at, value)
        case "set" if -len(view) <= at < len(view):
            view[at] = value
        case "del" if -len(view) <= at < len(view):
            del view[at]
        case "extend":
            view.extend(view)
        case "slice":
            view[:at] = [value, value]
        case "rev":
            view.reverse()


@given(st.dictionaries(KEYS, VALUES, max_size=3) | st.lists(VALUES, max_size=3), st.data())
def test_the_patches_lead_from_the_start_to_the_end(start: Any, data: st.DataObject) -> None:
    state, events = tracked(start)
    for _ in range(data.draw(st.integers(1, 6))):
        root = state.root()
        view = data.draw(st.sampled_from(containers(root)))
        if data.draw(st.booleans()):
            change(view, data)
        else:
            with root.batch():
                change(view, data)
                change(data.draw(st.sampled_from(containers(state.root()))), data)
    assert state_of(start, events) == state.value == state.root().copy()


def test_the_operations_and_their_pointers() -> None:
    state, events = tracked({"list": [1], "gone": 0})
    root: Any = state.root()
    root["a/b"] = {"m~n": 1}
    root["a/b"]["m~n"] = 2
    root["list"].append({"deep": []})
    root["list"][1]["deep"] += ["x"]
    del root["gone"]
    assert [event["delta"] for event in events] == [
        [{"op": "add", "path": "/a~1b", "value": {"m~n": 1}}],
        [{"op": "replace", "path": "/a~1b/m~0n", "value": 2}],
        [{"op": "add", "path": "/list/1", "value": {"deep": []}}],
        [{"op": "add", "path": "/list/1/deep/0", "value": "x"}],
        [{"op": "remove", "path": "/gone"}],
    ]


def test_several_changes_share_a_delta_inside_of_a_batch() -> None:
    state, events = tracked({})
    root: Any = state.root()
    with root.batch():
        root["a"] = 1
        root.update(b=2)
    assert [len(event["delta"]) for event in events] == [2]


def test_replacing_the_whole_is_a_snapshot() -> None:
    state, events = tracked({"a": 1})
    state.root().replace({"b": []})
    state.root()["b"].append(1)
    assert events[0] == {"type": "STATE_SNAPSHOT", "snapshot": {"b": []}}
    assert state_of({"a": 1}, events) == {"b": [1]}


@pytest.mark.parametrize("start", [None, 3, "text"])
def test_a_state_that_is_no_container_is_replaced_by_the_first_change(start: Any) -> None:
    state, events = tracked(start)
    root: Any = state.root()
    root["a"] = 1
    root["b"] = 2
    assert [event["type"] for event in events] == ["STATE_SNAPSHOT", "STATE_DELTA"]
    assert state_of(start, events) == {"a": 1, "b": 2}


def test_a_view_of_what_is_gone_refuses_to_change_something_else() -> None:
    state, events = tracked({"a": {"x": 1}, "list": [[1], [2]]})
    root: Any = state.root()
    old, second = root["a"], root["list"][1]
    root["a"] = {}
    del root["list"][0]
    for stale in (lambda: old.update(x=2), lambda: second.append(3)):
        with pytest.raises(RuntimeError, match="read it again"):
            stale()
    assert state_of({"a": {"x": 1}, "list": [[1], [2]]}, events) == state.value


def test_what_was_put_in_can_change_outside_without_effect() -> None:
    mine = {"x": [1]}
    state, events = tracked({})
    root: Any = state.root()
    root["mine"] = mine
    mine["x"].append(2)
    root["copy"] = root["mine"]
    root["copy"]["x"].append(3)
    assert state.value == {"mine": {"x": [1]}, "copy": {"x": [1, 3]}} == state_of({}, events)


@pytest.mark.parametrize("value", [{1: 2}, {"a": object()}, [{1, 2}]])
def test_only_json_goes_in(value: Any) -> None:
    state, events = tracked({})
    with pytest.raises(TypeError):
        state.root()["a"] = value
    assert (events, state.value) == ([], {})
