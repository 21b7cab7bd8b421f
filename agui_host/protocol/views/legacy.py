"""Translates a run's events for one reader of AG-UI 0.x, which would reject some of 1.0's.

The log stays 1.0, and positions do not change: an event that is left out leaves its ``id:``.
Read from the schemas and verifiers of ``@ag-ui/client`` 0.0.35 to 0.0.59, and tested against them:

| up to | does not know | gets |
| --- | --- | --- |
| 0.0.59 | outcome ``cancelled`` | RUN_ERROR, code ``abort`` |
| 0.0.59 | questions that a rule of the agent made | a success, as the framework sent it |
| 0.0.59 | ``pendingToolCallIds`` of a success | no outcome, which waits for its calls |
| 0.0.59 | content parts of a tool's result, a user's part of source ``file`` | text |
| 0.0.58 | SUBAGENT_*; two steps of one name at once | nothing; the outer one |
| 0.0.57 | anything behind RUN_ERROR | nothing |
| 0.0.49 | media parts, an empty delta | ``binary`` parts, nothing |
| 0.0.44 | REASONING_*, reasoning messages | THINKING_*, nothing |
| 0.0.40 | ACTIVITY_*, activity messages; parts of a user's message | nothing; text |
| 0.0.36 | THINKING_START and _END; a text that is not the assistant's | nothing |
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agui_host.protocol.encoding import encode, type_of
from agui_host.protocol.questions import table
from agui_host.protocol.views import raw
from agui_host.protocol.views.legacy_messages import as_text, message_for

Event = Mapping[str, Any]
Wire = dict[str, Any]
Version = tuple[int, int, int]

NEWEST: Version = (0, 0, 59)
"""The version assumed for a client that declares none: CopilotKit 1.75 is built on this one."""
STOPPED = "abort"
"""The code with which 0.x clients end a cancelled run; CopilotKit shows no error for it."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")
_CHANGING = frozenset(
    {b"RUN_STARTED", b"RUN_FINISHED", b"MESSAGES_SNAPSHOT", b"TOOL_CALL_RESULT", b"RUN_ERROR"}
)
REMEMBERED = frozenset(
    {"STEP_STARTED", "STEP_FINISHED", "REASONING_MESSAGE_START", "REASONING_MESSAGE_END"}
)
TEXTS = frozenset({"TEXT_MESSAGE_START", "TEXT_MESSAGE_END"})
_LEFT_OUT = {"SUBAGENT_": (0, 0, 58), "ACTIVITY_": (0, 0, 40), "REASONING_": (0, 0, 36)}
_PARTS: Version = (0, 0, 40)
_ROLES: Version = (0, 0, 36)
_THINKING: Version = (0, 0, 44)
_MEDIA: Version = (0, 0, 49)
_ONE_ERROR: Version = (0, 0, 57)
_STEPS: Version = (0, 0, 58)


def version_of(text: str) -> Version | None:
    """``0.0.43`` as a version of 0.x; None for 1.0 and newer. Raises ValueError otherwise."""
    parts = _VERSION.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text[:40]} is not a version of AG-UI")
    major, minor, patch = (int(part or 0) for part in parts.groups())
    if major:
        return None
    return NEWEST if minor else min((0, 0, patch), NEWEST)


class Frames(Protocol):
    """A batch as ``events.frames`` makes it; only the members used here."""

    first: int
    payloads: Sequence[bytes] | None

    @property
    def types(self) -> frozenset[bytes]:
        """The types of its events, as bytes."""

    @property
    def numbering(self) -> bytes:
        """How the events' ids are made of their numbers."""

    @property
    def sse(self) -> bytes:
        """The whole batch as server-sent events."""


class Older:
    """The translation for one reader, which reads the log in order; a ``view`` of a stream."""

    def __init__(self, version: Version, *, raw: bool = True) -> None:
        self._version = version
        self._raw = raw
        self._thought: str | None = None
        self._steps: dict[str, int] = {}
        self._over = False
        self._foreign: set[str] = set()

    def __call__(self, frames: Frames) -> bytes:
        """The server-sent events of a batch; most batches are the ones that all readers share."""
        if self._version > _STEPS and self._raw and not frames.types & _CHANGING:
            return frames.sse
        mark = b"id: %b\n" % frames.numbering
        return b"".join(
            [
                self._frame(mark % seq, payload)
                for seq, payload in enumerate(frames.payloads or (), frames.first)
            ]
        )

    @property
    def remembers(self) -> frozenset[str]:
        """The types that affect how later events are translated; none for the newest of 0.x."""
        if self._version > _STEPS:
            return frozenset()
        return REMEMBERED if self._version > _ROLES else REMEMBERED | TEXTS

    def opening(self, opening: bytes) -> bytes:
        """The same for a prelude, of which only the last frame has an ``id:``."""
        blocks = []
        for block in opening.split(b"\n\n")[:-1]:
            head, _, payload = block.rpartition(b"\n")  # A payload contains no line breaks.
            blocks.append(self._frame(head and head + b"\n", payload.removeprefix(b"data: ")))
        return b"".join(blocks)

    def events(self, event: Event) -> list[Wire]:
        """The events that replace an event; none if it is left out."""
        kind: str = event["type"]
        if kind == "RUN_STARTED" and self._version > _ONE_ERROR:
            self._over = False
        if self._over:
            return []
        for prefix, last in _LEFT_OUT.items():
            if kind.startswith(prefix) and self._version <= last:
                return []
        if self._version <= _THINKING and kind.startswith("REASONING_"):
            return self._thinking(event)
        return self._translated(kind, event)

    def _frame(self, mark: bytes, stored: bytes) -> bytes:
        payload = stored if self._raw else raw.payload(stored)
        payloads = [] if payload is None else self._payloads(payload)
        if not payloads:
            return mark
        *before, last = payloads
        return b"".join([b"data: %b\n\n" % each for each in before]) + mark + b"data: %b\n\n" % last

    def _payloads(self, stored: bytes) -> list[bytes]:
        kind = type_of(stored)
        if self._version > _STEPS and kind not in _CHANGING and not self._over:
            return [stored]
        event = json.loads(stored)
        translated = self.events(event)
        return [stored if each is event else encode(each) for each in translated]

    def _translated(self, kind: str, event: Event) -> list[Any]:
        match kind:
            case "RUN_STARTED":
                self._steps, self._thought = {}, None
                return [_with(event, "input", self._input)] if "input" in event else [event]
            case "MESSAGES_SNAPSHOT":
                return [_with(event, "messages", self._messages)]
            case "RUN_FINISHED":
                last = ending(event)
                self._over = last["type"] == "RUN_ERROR"
                return [last]
            case "RUN_ERROR":
                self._over = True
            case "TOOL_CALL_RESULT" if not isinstance(event["content"], str):
                return [_with(event, "content", as_text)]
            case "STEP_STARTED" | "STEP_FINISHED" if self._version <= _STEPS:
                return [event] if self._is_outer(event) else []
            case _ if kind.startswith("TEXT_MESSAGE_") and self._is_foreign(kind, event):
                return []
            case _ if self._version <= _MEDIA and event.get("delta") == "":
                return []
        return [event]

    def _is_foreign(self, kind: str, event: Event) -> bool:
        # Whether a text is not the assistant's, for readers that know no other role.
        name = event["messageId"]
        role = event.get("role", "assistant")
        if kind == "TEXT_MESSAGE_START" and self._version <= _ROLES and role != "assistant":
            self._foreign.add(name)
        foreign = name in self._foreign
        if kind == "TEXT_MESSAGE_END":
            self._foreign.discard(name)
        return foreign

    def _input(self, body: Wire) -> Wire:
        return _with(body, "messages", self._messages) if "messages" in body else body

    def _messages(self, messages: list[Wire]) -> list[Wire]:
        translated = (
            message_for(
                message,
                reasoning=self._version > _THINKING,
                media=self._version > _MEDIA,
                parts=self._version > _PARTS,
            )
            for message in messages
        )
        return [message for message in translated if message is not None]

    def _is_outer(self, event: Event) -> bool:
        # Whether a step is the only open one of its name, in any subagent.
        name, change = event["stepName"], 1 if event["type"] == "STEP_STARTED" else -1
        before = self._steps.get(name, 0)
        self._steps[name] = before + change
        return (before, change) in ((0, 1), (1, -1))

    def _thinking(self, event: Event) -> list[Wire]:
        """Reasoning as THINKING_*: one text at a time, each in a separate span."""
        kind, name = event["type"], event.get("messageId")
        more = {key: event[key] for key in ("timestamp", "rawEvent") if key in event}
        if kind == "REASONING_MESSAGE_START" and self._thought is None:
            self._thought = name
            return [
                {"type": "THINKING_START", **more},
                {"type": "THINKING_TEXT_MESSAGE_START", **more},
            ]
        if self._thought is None or name != self._thought:
            return []
        if kind == "REASONING_MESSAGE_CONTENT" and event["delta"]:
            content = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": event["delta"]}
            return [content | more]
        if kind != "REASONING_MESSAGE_END":
            return []
        self._thought = None
        return [
            {"type": "THINKING_TEXT_MESSAGE_END", **more},
            {"type": "THINKING_END", **more},
        ]


def ending(event: Event) -> Event:
    """A RUN_FINISHED in the form of 0.x; most stay unchanged."""
    outcome = event.get("outcome") or {}
    if outcome.get("type") == "cancelled":
        more = {name: event[name] for name in ("usage", "timestamp") if name in event}
        return {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": STOPPED} | more
    questions = outcome.get("interrupts") or ()
    ruled = questions and all(table.rule_of(question) for question in questions)
    if ruled or "pendingToolCallIds" in outcome:
        # Front ends of 0.x answer questions as their framework expects, once they see no interrupt;
        # an explicit success means to assistant-ui that the run waits for no call.
        return {name: value for name, value in event.items() if name != "outcome"}
    return event


def _with(event: Event, key: str, change: Any) -> Wire:
    return {**event, key: change(event[key])}
