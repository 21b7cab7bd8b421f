"""The lines of a history, read and checked for their members."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]

MEMBERS = {
    "history": "version",
    "fault": "name at",
    "failover": "standby at",
    "start": "client key body thread run status",
    "run": "run thread status head",
    "log": "run seq payload",
    "open": "reader transport run after",
    "event": "reader run seq hash",
    "end": "reader run",
    "leave": "reader run",
    "reset": "reader run epoch head",
    "text": "reader dialect run text terminal",
    "batch": "run producer epoch number status texts",
    "answer": "client interrupt value status run",
    "question": "interrupt run status value",
    "watch": "reader after",
    "feed": "reader cursor type run interrupt",
    "webhook": "webhook events",
    "delivery": "webhook id type run interrupt hash at final repeated_by",
    "schedule": "schedule at",
    "tick": "schedule at run",
}
"""By kind: the members that each line has, in addition to ``kind``. More are allowed."""


class BadHistory(ValueError):
    """The file is not a history: a line has an unknown kind, or a member is missing."""


def read(path: Path) -> Iterator[Line]:
    """The lines of a file. A kind that is misspelt must not pass for a promise that holds."""
    with path.open("rb") as file:
        yield from checked(json.loads(text) for text in file)


def checked(lines: Iterable[Line]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        kind = line.get("kind")
        if kind not in MEMBERS:
            raise BadHistory(f"line {number}: unknown kind {kind!r}")
        if missing := set(MEMBERS[kind].split()) - line.keys():
            raise BadHistory(f"line {number}: {kind} without {', '.join(sorted(missing))}")
        yield line


def seq_of(cursor: str | int) -> int:
    """The number in a cursor: 17 of ``17``, and of ``2-17``, where 2 is the epoch."""
    return int(str(cursor).rpartition("-")[2])


def hash_of(payload: str | bytes) -> str:
    """The hash of an event: 16 hex digits of the SHA-256 of its JSON, with sorted members."""
    event = json.loads(payload)
    text = json.dumps(event, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
