"""The host's marks on snapshots."""

from typing import Any

from agui_host.protocol.fold.inherited import Past, mark_of, marked
from agui_host.protocol.intake.intake import Intake

OLD = {"id": "old", "role": "assistant", "content": "said before"}
NEW = {"id": "new", "role": "user", "content": "said now"}


def snapshot(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **more}


def test_messages_of_the_run_are_named() -> None:
    past = Past([OLD, NEW], {"messages": [NEW]})
    answer = {"id": "a", "role": "assistant", "content": "an answer"}
    again = {"id": "renamed", "role": "assistant", "content": OLD["content"]}
    event = past.mark(snapshot(OLD, again, NEW, answer))
    assert mark_of(event) == {"own": ["new", "a"]}


def test_what_an_agent_sends_again_under_new_ids_is_older() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    parts = {"id": "p", "role": "user", "content": [{"type": "text", "text": "in parts"}]}
    calling = {"id": "q", "role": "assistant", "toolCalls": [call]}
    past = Past([OLD, parts, calling], {})
    event = past.mark(snapshot({**parts, "id": "1"}, {**calling, "id": "2"}))
    assert mark_of(event) == {"own": []}


def test_the_first_run_has_no_marks() -> None:
    event = snapshot(NEW)
    assert Past([NEW], {"messages": [NEW]}).mark(event) == snapshot(NEW)
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert mark_of(Past([NEW], {"messages": [NEW]}).mark(state)) == {}


def test_the_opening_state_is_marked_and_an_agents_first_one() -> None:
    past = Past([OLD], {})
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert mark_of(past.mark(dict(state))) == {"inherited": False}
    past.expect_state()
    assert mark_of(past.mark(dict(state))) == {"inherited": True}
    assert mark_of(past.mark(dict(state))) == {}


def test_an_agent_cannot_forge_a_mark() -> None:
    intake = Intake("t", "r", input={"messages": [NEW]}, history=[OLD, NEW])
    forged = {"agui-host": {"own": ["old"]}, "theirs": 1}
    (*_, record) = intake.accept(snapshot(OLD, metadata=forged))
    assert b'"metadata":{"theirs":1,"agui-host":{"own":[]}}' in record.payload
    first = Intake("t", "r", input={"messages": [NEW]}, history=[NEW])
    (*_, record) = first.accept(snapshot(NEW, metadata={"agui-host": {"own": []}}))
    assert b"agui-host" not in record.payload


def test_a_mark_is_read_from_stored_events_only_if_it_is_one() -> None:
    assert mark_of(marked({"type": "STATE_SNAPSHOT"}, {"inherited": True})) == {"inherited": True}
    assert mark_of({"type": "STATE_SNAPSHOT", "metadata": {"agui-host": 1}}) == {}
