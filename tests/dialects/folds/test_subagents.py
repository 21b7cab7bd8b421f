"""A subagent sent whole: what is long comes once, so that a log of them stays linear."""

from typing import Any

from agui_host.dialects.ai_sdk.fold import Stream
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.fold import MOST_REPEATED


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"SUBAGENT_{kind}", "subagentRunId": "s", **members}


def test_a_short_member_stays() -> None:
    stream = Stream("m")
    stream.feed(event("STARTED", name="Scout", description="looks around"))
    (frame,) = stream.feed(event("FINISHED", result=7))
    assert frame["data"] == {
        "name": "Scout", "description": "looks around", "result": 7, "status": "finished"
    }  # fmt: skip


def test_a_long_member_is_sent_once() -> None:
    """A thousand events of a subagent with a megabyte would be a gigabyte for each reader."""
    stream = Stream("m")
    (first,) = stream.feed(event("STARTED", name="Scout", description="x" * 1_000_000))
    assert len(first["data"]["description"]) == 1_000_000
    frames = [
        frame
        for _ in range(1_000)
        for kind in ("FINISHED", "STARTED")
        for frame in stream.feed(event(kind, name="Scout"))
    ]
    assert max(len(dumps(frame)) for frame in frames) < 2 * MOST_REPEATED
