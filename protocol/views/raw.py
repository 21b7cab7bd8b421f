"""The log without what an agent passed on from elsewhere: RAW events and every ``rawEvent``.

A reader's choice, per reader: the stored log keeps both. Positions stay what they are.
"""

import json

from protocol.encoding import encode

_RAW, _FIELD = b'"RAW"', b'"rawEvent"'


def payload(stored: bytes) -> bytes | None:
    """The wire JSON of one event without it; None for a RAW event. Most are what they were."""
    if _FIELD not in stored and _RAW not in stored:
        return stored
    event = json.loads(stored)
    if event["type"] == "RAW":
        return None
    if "rawEvent" not in event:
        return stored  # somebody only said the word
    del event["rawEvent"]
    return encode(event)
