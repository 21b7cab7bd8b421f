"""Frames of CopilotKit's channel, and the place of an event in its thread."""

import json
from typing import Any
from uuid import UUID

import pytest

from agui_host.dialects.copilotkit.wire import (
    Frame,
    control,
    marked,
    place,
    place_of,
    push,
    pushes,
    read,
    reply,
)
from agui_host.protocol.errors import BadRequest

RUN = UUID("0190b5a4-0000-7000-8000-000000000001")
JOIN = Frame("1", "2", "thread:t", "phx_join", {})


@pytest.mark.parametrize(
    "value",
    [
        None, {}, [], ["1", "2", "t", "e"], [1, "2", "t", "e", {}], ["1", "2", None, "e", {}],
        ["1", "2", "t", "e", []], ["1", "2", "t", "e", {}, {}],
    ],
)  # fmt: skip
def test_other_frames_are_refused(value: Any) -> None:
    with pytest.raises(BadRequest):
        read(value)


def test_a_frame_may_have_no_refs() -> None:
    assert read([None, None, "t", "heartbeat", {}]) == Frame(None, None, "t", "heartbeat", {})


def test_answers_repeat_the_refs() -> None:
    response: dict[str, Any] = {"reason": "no"}
    assert json.loads(reply(JOIN, response, ok=False)) == [
        "1", "2", "thread:t", "phx_reply", {"status": "error", "response": response},
    ]  # fmt: skip
    assert json.loads(control(JOIN, "replay_complete", None)) == [
        "1", None, "thread:t", "replay_complete", {"latestEventId": None},
    ]  # fmt: skip


def test_an_event_is_sent_as_it_was_encoded() -> None:
    payload = '{"type": "CUSTOM", "name":"ü"}'
    text = push(JOIN, payload.encode())
    assert text.endswith(f",{payload}]")
    assert json.loads(text) == ["1", None, "thread:t", "ag_ui_event", json.loads(payload)]


def test_a_place_leads_back() -> None:
    assert place_of(place(RUN, 12)) == (RUN, 12)


@pytest.mark.parametrize("seq", ["", ":", ":-1", ":٣", f":{10**10}"])
def test_other_places_are_refused(seq: str) -> None:
    with pytest.raises(ValueError, match=RUN.hex):
        place_of(f"{RUN.hex}{seq}")


@pytest.mark.parametrize("metadata", [None, {"a": 1}, "odd"])
def test_an_event_carries_its_place_beside_its_metadata(metadata: Any) -> None:
    event = {"type": "CUSTOM"} | ({} if metadata is None else {"metadata": metadata})
    own = metadata if isinstance(metadata, dict) else {}
    event_out = json.loads(marked(json.dumps(event).encode(), "p"))
    assert event_out == {"type": "CUSTOM", "metadata": {**own, "cpki_event_id": "p"}}


def test_only_numbered_events_get_a_place() -> None:
    sse = b'data: {"a":1}\n\nid: 7\ndata: {"b":2}\n\n: ping\n\n'
    frames = [json.loads(text)[-1] for text in pushes(sse, JOIN, RUN)]
    assert frames == [{"a": 1}, {"b": 2, "metadata": {"cpki_event_id": f"{RUN.hex}:7"}}]
