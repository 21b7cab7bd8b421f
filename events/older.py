"""What a reader of AG-UI 0.x gets in place of an ending that it cannot read.

The log stays 1.0; only the last frame is said differently, per reader. ``@ag-ui/client`` 0.0.59,
which CopilotKit 1.75 is built on, knows the outcomes success and interrupt, and refuses a success
that lists ``pendingToolCallIds``: the whole run is then rejected. It finds those calls itself.
"""

import json
from collections.abc import Mapping
from typing import Any

from events.encoding import encode

STOPPED = "abort"
"""The code with which 0.x clients end a run that somebody stopped; CopilotKit shows no error."""
_CHANGING = (b'"cancelled"', b'"pendingToolCallIds"')
_DATA, _END = b"data: ", b"\n\n"


def ending(event: Mapping[str, Any]) -> dict[str, Any]:
    """A terminal event as 0.x reads it; most stay what they are."""
    outcome = event.get("outcome") or {}
    if outcome.get("type") == "cancelled":
        kept = {name: event[name] for name in ("usage", "timestamp") if name in event}
        said = {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": STOPPED}
        return said | kept
    if "pendingToolCallIds" in outcome:
        return {**event, "outcome": {"type": "success"}}
    return dict(event)


def payload(stored: bytes) -> bytes:
    """The same for the wire JSON of any event; only an ending that changes is parsed."""
    if b'"RUN_FINISHED"' not in stored or not any(word in stored for word in _CHANGING):
        return stored
    event = json.loads(stored)
    return encode(ending(event)) if event["type"] == "RUN_FINISHED" else stored


def frames(opening: bytes) -> bytes:
    """The same for server-sent events, of which only the last can be the ending."""
    start = opening.rfind(b"\n" + _DATA) + 1
    if not opening.startswith(_DATA, start):
        return opening
    stored = opening[start + len(_DATA) :].removesuffix(_END)
    said = payload(stored)
    return opening if said is stored else opening[:start] + _DATA + said + _END
