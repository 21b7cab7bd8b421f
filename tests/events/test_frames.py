"""Frames: a stretch of a journal as readers get it."""

import json
from typing import Any

from agui_host.protocol.views.link import LinkView
from agui_host.protocol.views.redaction import Redaction
from events.frames import Frames

RAW = {"type": "RAW", "event": {"secret": 1}}
HIDDEN = {"type": "STATE_SNAPSHOT", "snapshot": {"password": "x"}}
PLAIN = {"type": "CUSTOM", "name": "n", "value": 1}
START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


def frames(*events: dict[str, Any], first: int = 1) -> Frames:
    payloads = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    return Frames(first, first + len(events) - 1, payloads, final=False)


def test_every_event_has_its_number() -> None:
    batch = frames(PLAIN, PLAIN, first=7)
    assert batch.sse == b"".join(
        b"id: %d\ndata: %b\n\n" % (seq, batch.payloads[0]) for seq in (7, 8)
    )
    assert batch.sse is batch.sse, "made once for all readers"
    assert batch.types == {b"CUSTOM"}
    assert batch.size == 2 * len(batch.payloads[0])


def test_the_number_of_a_left_out_event_moves_the_cursor() -> None:
    batch = frames(PLAIN, RAW)
    assert batch.rawless_sse == b"id: 1\ndata: %b\n\nid: 2\n" % batch.payloads[0]


def test_a_link_gets_what_it_may_see_behind_its_cursor() -> None:
    view = LinkView(Redaction(["password"]))
    batch = frames(START, HIDDEN, PLAIN)
    pieces = [batch.linked_piece(view, place) for place in range(3)]
    text = b"".join(pieces[1:]).decode()
    assert '"password":"[redacted]"' in text
    assert "id: 3\ndata: " + batch.texts[2] in text, "an unchanged event is sent as it is stored"


def test_positions_alone_have_no_bytes() -> None:
    batch = Frames(1, 9, None, final=True)
    assert (batch.sse, batch.size, batch.texts, batch.events) == (b"", 0, [], [])
