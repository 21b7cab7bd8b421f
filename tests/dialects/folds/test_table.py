"""What holds for every dialect: docs/dialects.md has their frames for each event; any log fits.

``python -m tests.dialects.folds.test_table`` prints the matrix of that page.
"""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

from hypothesis import HealthCheck, given, settings

from agui_host import dialects
from agui_host.dialects.wire_format import Reader
from agui_host.protocol.encoding import encode
from agui_host.protocol.schema import EVENTS, TERMINAL
from agui_host.protocol.wire.fold import PLACES, Dialect, numbered
from tests.house.repository import ROOT
from tests.protocol.logs import expanded, threads

Event = dict[str, Any]
DOCS = ROOT / "docs" / "dialects.md"
QUESTION = {"id": "q", "reason": "confirm", "message": "May I?"}
PATCH = [{"op": "add", "path": "/a", "value": 1}]
READERS = [reader for each in dialects.formats() for reader in each.readers]
FOLDED = [reader for reader in READERS if reader.fold]
RUN = {"threadId": "t", "runId": "r"}


def log() -> list[Event]:
    """One event of each type that a log holds; chunks are stored as what they expand to."""
    steps: list[Event] = [
        {"type": "RUN_STARTED", **RUN},
        {"type": "STEP_STARTED", "stepName": "s"},
        {"type": "REASONING_START", "messageId": "r"},
        {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "d"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r"},
        {"type": "REASONING_END", "messageId": "r"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r"}
        | {"encryptedValue": "v"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "x"},
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        {"type": "STATE_DELTA", "delta": PATCH},
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "p", "content": {}},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "p", "patch": PATCH},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "u", "name": "n"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "u"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "u", "message": "m"},
        {"type": "RAW", "event": 1},
        {"type": "CUSTOM", "name": "n", "value": 1},
        {"type": "STEP_FINISHED", "stepName": "s"},
    ]
    return [{"timestamp": 1, **step} for step in steps]


ENDS: dict[str, Event] = {
    "RUN_FINISHED": {"type": "RUN_FINISHED", **RUN},
    "RUN_FINISHED, interrupt": {"type": "RUN_FINISHED", **RUN}
    | {"outcome": {"type": "interrupt", "interrupts": [QUESTION]}},
    "RUN_FINISHED, cancelled": {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "cancelled"}},
    "RUN_ERROR": {"type": "RUN_ERROR", "message": "m"},
}


def fold_of(reader: Reader) -> Callable[[str], Dialect]:
    assert reader.fold is not None
    return reader.fold


def frames(reader: Reader) -> dict[str, str]:
    """By event, the types of the frames that the dialect makes of it."""
    cells: dict[str, str] = {}
    for name, end in ENDS.items():
        fold = fold_of(reader)("run")
        for event in [*log(), {"timestamp": 2, **end}]:
            types = dict.fromkeys(f"`{frame['type']}`" for frame in fold.feed(event))
            key = name if event["type"] in TERMINAL else event["type"]
            cells[key] = ", ".join(types) or "–"
    return cells


def matrix() -> list[str]:
    """The lines of the page's table."""
    columns = {reader.name: frames(reader) for reader in FOLDED}
    head = ["AG-UI event", *columns]
    rows = next(iter(columns.values()))
    lines = [[f"`{row}`", *(column[row] for column in columns.values())] for row in rows]
    return [f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines]]


def test_the_log_has_every_event_that_is_stored() -> None:
    types = {event["type"] for event in log()} | TERMINAL
    assert types == {name for name in EVENTS if not name.endswith("_CHUNK")}


def test_the_page_has_the_frames_of_each_event() -> None:
    page = DOCS.read_text("utf-8")
    assert "\n".join(matrix()) in page, "print the table with the command above"
    for reader in READERS:
        assert f"## {reader.name}\n" in page
        assert (ROOT / reader.judge).is_file()


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(threads())
def test_any_log_fits(events: list[Event]) -> None:
    """No legal log breaks a fold, and its numbers rise and never meet.

    Each log is folded for all readers: to make one up takes longer than to fold it.
    """
    for run, reader in product(_runs(expanded(events)), FOLDED):
        fold, last = fold_of(reader)("run"), -1
        for seq, event in enumerate(run, 1):
            for number, frame in numbered(fold, seq, event):
                assert number > last, reader.name
                assert number < (seq + 1) * PLACES or event["type"] in TERMINAL, reader.name
                assert json.loads(encode(frame))["type"]
                last = number


def _runs(events: list[Event]) -> list[list[Event]]:
    runs: list[list[Event]] = []
    for event in events:
        if event["type"] == "RUN_STARTED":
            runs.append([])
        runs[-1].append({"timestamp": 1, **event})
    return runs


if __name__ == "__main__":
    print("\n".join(matrix()))
