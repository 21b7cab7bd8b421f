"""One run alone: what is older than the run is not in what its reader gets."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agui_host.protocol.patch import apply
from agui_host.protocol.views.alone import Alone

Wire = dict[str, Any]
OLD = {"doc": {"title": "SECRET", "n": 1}, "list": ["SECRET item"], "kept": "SECRET kept"}
INHERITED = {"agui-host": {"inherited": True}}


def started(state: Any = None, *messages: str) -> Wire:
    brought = [{"id": id, "role": "user", "content": id} for id in messages]
    body = {"threadId": "t", "runId": "r", "state": state, "messages": brought}
    return {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": body}


def snapshot(state: Any, **metadata: Any) -> Wire:
    more = {"metadata": metadata} if metadata else {}
    return {"type": "STATE_SNAPSHOT", "snapshot": state, **more}


def delta(*operations: Wire) -> Wire:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def op(kind: str, path: str, *value: Any, **more: Any) -> Wire:
    return {"op": kind, "path": path, **({"value": value[0]} if value else {}), **more}


def conversation(*ids: str, own: list[str] | None = None) -> Wire:
    messages = [{"id": id, "role": "assistant", "content": f"text {id}"} for id in ids]
    more = {} if own is None else {"metadata": {"agui-host": {"own": own}}}
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages, **more}


def seen_by_reader(*events: Wire, begins: bool = False) -> list[Wire]:
    """Each event as the reader gets it, which is the same for its encoded form."""
    view, other = Alone(begins=begins), Alone(begins=begins)
    visible: list[Wire] = []
    for event in events:
        before = json.dumps(event)
        visible.append(dict(view.show(event)))
        stored = json.dumps(event, separators=(",", ":")).encode()
        assert json.loads(other.see(stored)) == visible[-1]
        other = other.copy()
        assert json.dumps(event) == before, "events are shared"
    return visible


def state_after(*events: Wire, begins: bool = False) -> Any:
    """The state that a client holds."""
    state: Any = {}
    for event in seen_by_reader(*events, begins=begins):
        match event["type"]:
            case "STATE_SNAPSHOT":
                state = json.loads(json.dumps(event["snapshot"]))
            case "STATE_DELTA":
                state = apply(state, event["delta"])
    return state


def test_the_state_of_the_input_is_left_out() -> None:
    first, opening = seen_by_reader(started(OLD, "u"), snapshot(OLD, **INHERITED), begins=True)
    assert first["input"]["state"] == {}
    assert [message["id"] for message in first["input"]["messages"]] == ["u"]
    assert opening["snapshot"] == {}


@pytest.mark.parametrize(
    ("operations", "state"),
    [
        pytest.param([op("add", "/mine", 1)], {"mine": 1}, id="add"),
        pytest.param([op("replace", "/kept", "new")], {"kept": "new"}, id="replace a text"),
        pytest.param([op("replace", "/doc/n", 2)], {"doc": {"n": 2}}, id="replace inside"),
        pytest.param([op("add", "/list/-", "new")], {}, id="an element without its array"),
        pytest.param(
            [op("replace", "/doc", {"title": "SECRET", "n": 3})], {"doc": {"n": 3}}, id="restated"
        ),
        pytest.param([op("copy", "/mine", **{"from": "/kept"})], {}, id="copy"),
        pytest.param([op("move", "/mine", **{"from": "/kept"})], {}, id="move"),
        pytest.param(
            [op("add", "/mine", 1), op("copy", "/mine", **{"from": "/kept"})], {}, id="copy over"
        ),
        pytest.param(
            [op("add", "/a", {"b": 1}), op("move", "/c", **{"from": "/a"})],
            {"c": {"b": 1}},
            id="move an own value",
        ),
        pytest.param([op("test", "/kept", "SECRET kept"), op("remove", "/kept")], {}, id="remove"),
        pytest.param([op("replace", "", {"x": 1, "kept": "SECRET kept"})], {"x": 1}, id="root"),
        pytest.param(
            [op("add", "/new", ["SECRET item", "a"]), op("remove", "/new/0")],
            {"new": ["a"]},
            id="an element of an array that lost some",
        ),
        pytest.param(
            [op("add", "/new", ["a", "b"]), op("remove", "/new/0"), op("add", "/new/-", "c")],
            {"new": ["b", "c"]},
            id="an own array",
        ),
    ],
)
def test_deltas_show_what_the_run_has_set(operations: list[Wire], state: Any) -> None:
    log = [started(OLD), snapshot(OLD, **INHERITED), delta(*operations)]
    assert state_after(*log) == state
    assert "SECRET" not in json.dumps(seen_by_reader(*log))


def test_a_snapshot_of_the_agent_shows_what_has_changed() -> None:
    log = [started(), snapshot(OLD, **INHERITED), snapshot({**OLD, "mine": [1]})]
    assert state_after(*log) == {"mine": [1]}
    later = delta(op("add", "/mine/-", 2), op("replace", "/kept", "SECRET kept and more"))
    assert state_after(*log, later) == {"mine": [1, 2]}
    assert "SECRET" not in json.dumps(seen_by_reader(*log, later))


def test_a_run_that_inherits_nothing_shows_all() -> None:
    log = [started({}), snapshot({"a": 1}), delta(op("add", "/b", 2)), conversation("m", "n")]
    assert seen_by_reader(*log, begins=True) == log
    marked = [started({}), snapshot({"a": 1}, **{"agui-host": {"inherited": False}})]
    assert seen_by_reader(*marked) == marked


def test_of_a_conversation_the_own_messages_remain() -> None:
    start = {"type": "TEXT_MESSAGE_START", "messageId": "streamed", "role": "assistant"}
    log = [started(None, "u"), start, conversation("old", "u", "streamed", "whole", own=["whole"])]
    assert [each["id"] for each in seen_by_reader(*log)[-1]["messages"]] == [
        "u",
        "streamed",
        "whole",
    ]


@pytest.mark.parametrize(
    "role", ["user", "assistant", "system", "developer", "tool", "reasoning", "activity"]
)
def test_of_an_earlier_run_no_message_remains_whatever_its_role(role: str) -> None:
    whole = conversation("old", "own", own=["own"])
    whole["messages"][0] |= {"role": role, "toolCallId": "call"}
    messages = seen_by_reader(started(None), whole)[-1]["messages"]
    assert [message["id"] for message in messages] == ["own"]


def test_an_unmarked_log_shows_less() -> None:
    """A log from before the marks: its first snapshot counts as older, and unknown messages."""
    log = [started(None, "u"), snapshot(OLD), snapshot({**OLD, "mine": 1}), conversation("x", "u")]
    assert state_after(*log) == {"mine": 1}
    assert [each["id"] for each in seen_by_reader(*log)[-1]["messages"]] == ["u"]
    bare = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    assert state_after(bare, snapshot(OLD), begins=True) == {}
    unknown = [started(), delta(op("add", "/a", {"b": "SECRET"}), op("add", "/c", 1))]
    assert state_after(*unknown) == {"c": 1}


def test_raw_events_are_empty() -> None:
    raw = {"type": "RAW", "event": {"messages": ["SECRET"]}, "source": "x", "timestamp": 1}
    text = {"type": "TEXT_MESSAGE_START", "messageId": "m", "rawEvent": "SECRET"}
    assert seen_by_reader(raw, text) == [
        {"type": "RAW", "event": {}, "timestamp": 1},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
    ]


def test_an_activity_that_may_be_an_earlier_runs_is_not_its_own() -> None:
    activity: Mapping[str, Any] = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "content": {}}
    log = [dict(activity), {**activity, "messageId": "b", "replace": False}, conversation("a", "b")]
    assert [each["id"] for each in seen_by_reader(*log)[-1]["messages"]] == ["a"]
