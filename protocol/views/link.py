"""The link view: a run's log as those see it who only have a link to it.

Left out: RUN_STARTED.input (and the context in it), RAW, rawEvent, encrypted values; patches of a
state or an activity that the log itself has not shown; and what the grant hides
(``protocol/views/redaction.py``). What is left is a legal log that a stock client folds.

A hidden value may be cut in two by the deltas that bring it. So while anything is hidden, the
arguments of a call are held back and said whole before its END; and so is a message that begins
like JSON. No Django, no I/O.
"""

from collections.abc import Mapping
from typing import Any

from protocol.deep_copy import deep_copy
from protocol.patch import PatchFailed, apply
from protocol.views.redaction import ANY, MASK, Redaction, looks_like_json, touches

Event = Mapping[str, Any]
Shown = list[Event]

UNSEEN = frozenset({"RAW", "REASONING_ENCRYPTED_VALUE"})
CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")
_UNSET: Any = object()


class Said:
    """A text that comes in deltas: all of it so far, and the events that are held back.

    ``blank`` while there is nothing in it but white space.
    """

    __slots__ = ("_parts", "blank", "held", "is_json", "shown")

    def __init__(self, text: str = "") -> None:
        self._parts = [text] if text else []
        self.blank = not text.strip()
        self.shown = bool(text)
        self.is_json = looks_like_json(text)
        self.held: list[Event] = []

    @property
    def text(self) -> str:
        """All of it; put together when it is read, since a long text comes in many pieces."""
        return "".join(self._parts)

    def add(self, delta: str) -> None:
        """The next piece."""
        self._parts.append(delta)
        self.blank = self.blank and not delta.strip()

    def forget(self) -> None:
        """Keep nothing of a text that need not be looked at."""
        self._parts.clear()
        self.blank = False


class LinkView:
    """Feed it every event of a log from the first, in order; get what a link's reader is shown."""

    def __init__(self, redaction: Redaction) -> None:
        self.hidden = redaction
        self._state: Any = _UNSET
        self._state_shared = True
        self._own: set[str] = set()
        self._activities: dict[str, tuple[str, Any]] = {}
        self._texts: dict[str, Said] = {}
        self._calls: dict[str, Said] = {}
        self._tools: dict[str, str] = {}

    def show(self, event: Event) -> Shown:
        """None, one or two events; the very same object where nothing changes."""
        kind = event["type"]
        if kind in UNSEEN:
            return []
        if "rawEvent" in event or kind == "RUN_STARTED":
            event = {k: v for k, v in event.items() if k not in ("rawEvent", "input")}
        if self.hidden and "metadata" in event:
            event = self._with(event, "metadata", self._object(event["metadata"], "metadata"))
        rule = _RULES.get(kind)
        return [event] if rule is None else rule(self, event)

    # --- state and activities

    def _state_snapshot(self, event: Event) -> Shown:
        self._state = event["snapshot"] if self.hidden else None
        self._state_shared = True
        return [self._with(event, "snapshot", self._value(event["snapshot"], "state"))]

    def _state_delta(self, event: Event) -> Shown:
        if self._state is _UNSET:
            return []  # it patches what the input brought
        if not self.hidden:
            return [event]
        # An event that was shown may hold it, so it is copied before the first patch.
        state = deep_copy(self._state) if self._state_shared else self._state
        try:
            self._state = apply(state, event["delta"])
        except PatchFailed:
            return []
        self._state_shared = False
        if not touches(self.hidden, event["delta"], ("state",)):
            return [event]
        snapshot = self._value(self._state, "state")
        self._state_shared = True
        return [_instead(event, "STATE_SNAPSHOT", "delta", snapshot=snapshot)]

    def _activity(self, event: Event) -> Shown:
        name, kind, content = event["messageId"], event["activityType"], event["content"]
        if name not in self._activities or event.get("replace") is not False:
            self._activities[name] = kind, content
            self._own.discard(name)
        return [self._with(event, "content", self._object(content, kind))]

    def _activity_delta(self, event: Event) -> Shown:
        name, kind = event["messageId"], event["activityType"]
        if name not in self._activities:
            return []
        if not self.hidden:
            return [event]
        content = self._activities[name][1]
        try:
            content = apply(content if name in self._own else deep_copy(content), event["patch"])
        except PatchFailed:
            return []
        self._own.add(name)
        before = self._activities[name][0]
        self._activities[name] = kind, content
        if before == kind and not touches(self.hidden, event["patch"], (kind,)):
            return [event]
        shown = self._object(content, kind)
        self._own.discard(name)
        if not isinstance(shown, dict):
            return []
        return [_instead(event, "ACTIVITY_SNAPSHOT", "patch", content=shown, replace=True)]

    # --- texts and calls

    def _content(self, event: Event) -> Shown:
        if not self.hidden:
            return [event]
        said = self._texts.setdefault(event["messageId"], Said())
        if said.blank:
            # white space tells nothing yet, and waits
            said.is_json = looks_like_json(event["delta"]) or not event["delta"].strip()
        if not said.is_json:
            blank = [_joined(said, said.text)] if said.held else []
            said.forget()  # prose
            return [*blank, event]
        said.add(event["delta"])
        said.held.append(event)
        return []

    def _text_end(self, event: Event) -> Shown:
        said = self._texts.get(event["messageId"])
        if said is None or not said.held:
            return [event]
        return [_joined(said, self.hidden.text(said.text)), event]

    def _call_start(self, event: Event) -> Shown:
        self._tools[event["toolCallId"]] = event["toolCallName"]
        return [event]

    def _args(self, event: Event) -> Shown:
        if not self.hidden:
            return [event]
        said = self._calls.setdefault(event["toolCallId"], Said())
        said.add(event["delta"])
        said.held.append(event)
        return []

    def _call_end(self, event: Event) -> Shown:
        call = event["toolCallId"]
        said = self._calls.get(call)
        if said is None or not said.held:
            return [event]
        return [_joined(said, self.hidden.arguments(said.text, self._tools[call])), event]

    def _result(self, event: Event) -> Shown:
        tool = self._tools.get(event["toolCallId"], ANY)
        return [self._with(event, "content", self._content_of(event["content"], tool))]

    # --- the conversation, and how a run ends

    def _snapshot(self, event: Event) -> Shown:
        for message in event["messages"]:
            self._learn(message)
        messages = [self._message(message) for message in event["messages"]]
        same = all(a is b for a, b in zip(messages, event["messages"], strict=True))
        return [event if same else {**event, "messages": messages}]

    def _learn(self, message: Event) -> None:
        """What a snapshot says of a text counts from now on; what was held back is in it."""
        if message["role"] == "activity":
            self._activities[message["id"]] = message["activityType"], message["content"]
            self._own.discard(message["id"])
        elif self.hidden:
            content = message.get("content")
            self._texts[message["id"]] = Said(content if isinstance(content, str) else "")
            for call in message.get("toolCalls") or ():
                self._tools[call["id"]] = call["function"]["name"]
                self._calls[call["id"]] = Said(call["function"]["arguments"])

    def _message(self, message: Event) -> Event:
        if "encryptedValue" in message:
            message = {k: v for k, v in message.items() if k != "encryptedValue"}
        calls = message.get("toolCalls")
        if calls:
            shown = [self._call(call) for call in calls]
            if any(a is not b for a, b in zip(shown, calls, strict=True)):
                message = {**message, "toolCalls": shown}
        if not self.hidden:
            return message
        if message["role"] == "activity":
            content = self._object(message["content"], message["activityType"])
            message = self._with(message, "content", content)
        elif "content" in message:
            tool = None
            if message["role"] == "tool":
                tool = self._tools.get(message["toolCallId"], ANY)
            message = self._with(message, "content", self._content_of(message["content"], tool))
        if "metadata" in message:
            metadata = self._object(message["metadata"], "metadata")
            message = self._with(message, "metadata", metadata)
        if "error" in message:
            message = self._with(message, "error", self.hidden.text(message["error"]))
        return message

    def _call(self, call: Event) -> Event:
        if "encryptedValue" in call:
            call = {k: v for k, v in call.items() if k != "encryptedValue"}
        function = call["function"]
        shown = self.hidden.arguments(function["arguments"], function["name"])
        if shown != function["arguments"]:
            call = {**call, "function": {**function, "arguments": shown}}
        if "metadata" in call:
            call = self._with(call, "metadata", self._object(call["metadata"], "metadata"))
        return call

    def _custom(self, event: Event) -> Shown:
        return [self._with(event, "value", self._value(event["value"], event["name"]))]

    def _finished(self, event: Event) -> Shown:
        if "result" in event:
            event = self._with(event, "result", self._value(event["result"], "result"))
        outcome = event.get("outcome") or {}
        if self.hidden and outcome.get("type") == "interrupt":
            asked = [self._interrupt(each) for each in outcome["interrupts"]]
            event = {**event, "outcome": {**outcome, "interrupts": asked}}
        return [event]

    def _interrupt(self, asked: Event) -> Event:
        shown = dict(asked)
        for name in ("message", "reason"):
            if name in shown:
                shown[name] = self.hidden.text(shown[name])
        for name in ("metadata", "responseSchema"):
            if name in shown:
                shown[name] = self._object(shown[name], name)
        return shown

    def _texts_of(self, event: Event) -> Shown:
        """RUN_ERROR and the events of subagents: texts for people."""
        for name in ("message", "description"):
            if name in event:
                event = self._with(event, name, self.hidden.text(event[name]))
        return [event]

    # --- values

    def _value(self, value: Any, name: str) -> Any:
        return self.hidden.value(value, (name,))

    def _object(self, value: Any, name: str) -> Any:
        """A value that the protocol wants as an object stays one."""
        shown = self._value(value, name)
        return {MASK: True} if shown == MASK else shown

    def _content_of(self, content: Any, tool: str | None) -> Any:
        """The content of a message: a text, or parts of which some are texts."""
        trail = () if tool is None else (tool,)
        if isinstance(content, str):
            return self.hidden.text(content, trail, strict=tool is not None)
        if not isinstance(content, list):
            return content
        parts = [self._part(part, tool) for part in content]
        return content if all(a is b for a, b in zip(parts, content, strict=True)) else parts

    def _part(self, part: Event, tool: str | None) -> Event:
        if "text" in part:
            part = self._with(part, "text", self._content_of(part["text"], tool))
        elif tool is not None and self.hidden.hides((tool,)):
            return {"type": "text", "text": MASK}
        if "metadata" in part:
            part = self._with(part, "metadata", self._value(part["metadata"], "metadata"))
        return part

    @staticmethod
    def _with(event: Event, name: str, value: Any) -> Event:
        return event if event[name] is value else {**event, name: value}


def _joined(said: Said, shown: str) -> Event:
    """The held-back text as one delta. Where a part was shown before, the rest stays hidden."""
    new = "".join(event["delta"] for event in said.held)
    hidden = MASK if said.shown else shown
    delta = new if shown == said.text else hidden
    event = {**said.held[-1], "delta": delta}
    metadata: dict[str, Any] = {}
    for held in said.held:
        metadata |= held.get("metadata") or {}
    if metadata:
        event["metadata"] = metadata
    said.held = []
    said.shown = True
    return event


def _instead(event: Event, kind: str, without: str, **fields: Any) -> Event:
    kept = {name: value for name, value in event.items() if name not in ("type", without)}
    return {"type": kind, **kept, **fields}


_RULES = {
    **dict.fromkeys(CONTENTS, LinkView._content),
    **dict.fromkeys(ENDS, LinkView._text_end),
    "STATE_SNAPSHOT": LinkView._state_snapshot,
    "STATE_DELTA": LinkView._state_delta,
    "ACTIVITY_SNAPSHOT": LinkView._activity,
    "ACTIVITY_DELTA": LinkView._activity_delta,
    "TOOL_CALL_START": LinkView._call_start,
    "TOOL_CALL_ARGS": LinkView._args,
    "TOOL_CALL_END": LinkView._call_end,
    "TOOL_CALL_RESULT": LinkView._result,
    "MESSAGES_SNAPSHOT": LinkView._snapshot,
    "CUSTOM": LinkView._custom,
    "RUN_FINISHED": LinkView._finished,
    "RUN_ERROR": LinkView._texts_of,
    "SUBAGENT_STARTED": LinkView._texts_of,
    "SUBAGENT_FINISHED": LinkView._finished,
    "SUBAGENT_ERROR": LinkView._texts_of,
}
