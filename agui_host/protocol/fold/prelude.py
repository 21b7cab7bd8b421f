"""The prelude: the events with which a stock client joins in the middle of a log.

Snapshots of the view of a reader up to here, then a START for every open part, so that
the following events are legal and add up to the same messages and state. An ended log has no
middle: its prelude is its hydration.
"""

from collections.abc import Iterator
from typing import Any

from agui_host.protocol.encoding import encode
from agui_host.protocol.fold.fold import Fold
from agui_host.protocol.fold.open_parts import CALL, SPAN, TEXT, THOUGHT
from agui_host.protocol.ids import named
from agui_host.protocol.sizes import FRAMING, MAX_EVENT_BYTES
from agui_host.protocol.violation import Owner

Events = list[dict[str, Any]]


def prelude(fold: Fold) -> Events:
    """The events to send before the next one of the log; none for an empty log."""
    if fold.terminal is not None or fold.started is None:
        return finished(fold)
    parts, snapshot = fold.parts, _snapshot(fold)
    lost = [key for key in parts.ids() if not _is_held(fold, *key)]
    return [
        *_opening(fold),
        snapshot,
        # A MESSAGES_SNAPSHOT in the log may have dropped a message that was still streaming. Its
        # END will come, so it is opened again; that builds a message, which a second snapshot
        # drops.
        *(_lost(fold, *key) for key in lost),
        *([snapshot] if lost else []),
        *map(dict, fold.asking),
        *map(dict, parts.steps.values()),
        *(dict(event) for events in parts.subagents.values() for event in events),
        *(_reopened(fold, *key) for key in parts.ids() if key not in lost),
    ]


def finished(fold: Fold) -> Events:
    """An ended thread as snapshots, closed by the actual ending of its last run.

    Any other ending would clear the interrupts that a client is to answer, or restore answered
    ones.
    """
    ending = [] if fold.terminal is None else [dict(fold.terminal)]
    if fold.started is None:
        return ending
    return [*_opening(fold), _snapshot(fold), *map(dict, fold.questions), *ending]


def prelude_frames(fold: Fold, position: int) -> bytes | None:
    """The prelude as server-sent events; the last one carries ``id: position``.

    A reader that is cut off during the prelude thus comes back without a cursor and gets a whole
    one. None if an event would be larger than clients accept (10 MiB): such a reader needs the raw
    log.
    """
    payloads = list(map(encode, prelude(fold)))
    if any(len(payload) > MAX_EVENT_BYTES - FRAMING for payload in payloads):
        return None
    frames = [b"data: %b\n\n" % payload for payload in payloads]
    if frames:
        frames[-1] = b"id: %b\n%b" % (named(position), frames[-1])
    return b"".join(frames)


def _opening(fold: Fold) -> Iterator[dict[str, Any]]:
    if fold.raised and fold.raised[-1] != fold.terminal:
        yield from map(dict, fold.raised)
    yield dict(fold.started or {})
    yield {"type": "STATE_SNAPSHOT", "snapshot": fold.state}


def _snapshot(fold: Fold) -> dict[str, Any]:
    """The messages in a form that clients accept."""
    parts, messages = fold.parts, fold.messages
    for message in messages:
        name = message["id"]
        if message["role"] == "activity":
            if not isinstance(message["content"], dict):
                # Patches can turn the state into any value; a snapshot must be an object.
                message["content"] = {}
            continue
        # A client learns the owner from here, and rejects the next delta if its owner differs.
        for kind in (SPAN, THOUGHT) if message["role"] == "reasoning" else (TEXT,):
            if name in parts.open[kind]:
                _tag(message, parts.owner(kind, name))
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


def _is_held(fold: Fold, kind: str, part: str) -> bool:
    if kind == SPAN:
        return True  # its id is not that of a message
    return fold.call_name(part) is not None if kind == CALL else fold.has_message(part)


def _reopened(fold: Fold, kind: str, part: str) -> dict[str, Any]:
    """The START that reopens a part.

    It has no metadata: the snapshot contains that already, and repeating it would undo later
    changes.
    """
    event = dict(fold.parts.open[kind][part])
    _tag(event, fold.parts.owner(kind, part))
    if kind == CALL and (name := fold.call_name(part)) is not None:
        event["toolCallName"] = name
    return event


def _lost(fold: Fold, kind: str, part: str) -> dict[str, Any]:
    """The START of an open part that no message contains: it must not change any message."""
    event = _reopened(fold, kind, part)
    if kind == CALL:
        event.pop("parentMessageId", None)
        if fold.has_message(part):
            event["parentMessageId"] = part  # The call's own message, restated without the call.
    return event


def _tag(event: dict[str, Any], owner: Owner) -> None:
    if owner is None:
        event.pop("subagentRunId", None)
    else:
        event["subagentRunId"] = owner
