"""The log without RAW events and every ``rawEvent``, which agents pass on from elsewhere.

Each reader chooses; the stored log keeps both. Positions do not change.
"""

import json

from agui_host.protocol.encoding import encode

_RAW, _FIELD = b'"RAW"', b'"rawEvent"'


def payload(stored: bytes) -> bytes | None:
    """The wire JSON of one event without ``rawEvent``; None for a RAW event. Most are unchanged."""
    if _FIELD not in stored and _RAW not in stored:
        return stored
    event = json.loads(stored)
    if event["type"] == "RAW":
        return None
    if "rawEvent" not in event:
        return stored  # the word only occurs in a text
    del event["rawEvent"]
    return encode(event)
