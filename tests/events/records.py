"""Records as intake makes them, without intake: the journal's tests need bytes, not rules."""

import json
import time
from collections.abc import Iterable

from agui_host.protocol.encoding import Record


def record(type_: str, **fields: object) -> Record:
    payload = json.dumps({"type": type_, **fields}, separators=(",", ":")).encode()
    return Record(type_, payload, time.time())


def deltas(count: int, *, start: int = 1) -> list[Record]:
    return [
        record("TEXT_MESSAGE_CONTENT", messageId="m", delta=f"d{number}")
        for number in range(start, start + count)
    ]


def whole_log(count: int) -> list[Record]:
    """A log of ``count`` events, the last one terminal."""
    return [record("RUN_STARTED"), *deltas(count - 2), record("RUN_FINISHED")]


def payloads(records: Iterable[Record]) -> list[bytes]:
    return [item.payload for item in records]
