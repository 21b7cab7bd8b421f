"""The link view: a run's log for readers who only have a link to it.

It leaves out RUN_STARTED.input (with the context in it), RAW, rawEvent, encrypted values, patches
of a state or an activity that the log itself has not shown, and members that the grant hides
(``agui_host/protocol/views/redaction.py``). The rest is a legal log that a stock client folds.

Deltas can split a hidden value in two. So while a grant hides anything, the arguments of a call
wait and are sent whole before its END; so does a message that begins like JSON. No Django, no
I/O.
"""

from collections.abc import Mapping
from typing import Any

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.questions.table import MARK, RULE, rule_of
from agui_host.protocol.views.alone import Alone
from agui_host.protocol.views.redaction import ANY, MASK, Redaction, looks_like_json, plain, touches

Event = Mapping[str, Any]
Shown = list[Event]

UNSEEN = frozenset({"RAW", "REASONING_ENCRYPTED_VALUE"})
ENCRYPTED = frozenset({"encryptedValue", "encryptedValueType"})
CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
BY_RULE = ("id", "toolCallId", "expiresAt")
"""Members of a question that a rule of the agent made, as a grant that hides something shows it."""
ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")
_UNSET: Any = object()


class Buffer:
    """A text that comes in deltas: all of it so far, and the events that wait.

    ``blank`` while it consists of nothing but white space.
    """

    __slots__ = ("_parts", "blank", "is_json", "partly_sent", "withheld")

    def __init__(self, text: str = "") -> None:
        self._parts = [text] if text else []
        self.blank = not text.strip()
        self.partly_sent = bool(text)
        self.is_json = looks_like_json(text)
        self.withheld: list[Event] = []

    @property
    def text(self) -> str:
        """All of the text; joined when it is read, since a long text comes in many pieces."""
        return "".join(self._parts)

    def add(self, delta: str) -> None:
        """Add a piece of text; white space alone leaves the part blank."""
        self._parts.append(delta)
        self.blank = self.blank and not delta.strip()

    def copy(self) -> "Buffer":
        """Another buffer with the same text."""
        other = Buffer()
        other._parts, other.blank = list(self._parts), self.blank
        other.partly_sent, other.is_json = self.partly_sent, self.is_json
        other.withheld = list(self.withheld)
        return other

    def forget(self) -> None:
        """Drop a text that needs no redaction."""
        self._parts.clear()
        self.blank = False


class LinkView:
    """Feed it every event of a log from the first, in order; it returns the reader's events."""

    def __init__(self, redaction: Redaction, alone: Alone | None = None) -> None:
        """``alone``: a view of the run without older parts, for links to it alone."""
        self.hidden = redaction
        self._alone = alone
        self._state: Any = _UNSET
        self._state_shared = True
        self._own: set[str] = set()
        self._activities: dict[str, tuple[str, Any]] = {}
        self._texts: dict[str, Buffer] = {}
        self._calls: dict[str, Buffer] = {}
        self._tools: dict[str, str] = {}
        self._steps: dict[str, str] = {}

    def copy(self) -> "LinkView":
        """Another view at the same place of the log, for a reader who continues alone."""
        other = LinkView(self.hidden, self._alone and self._alone.copy())
        other._state = self._state if self._state is _UNSET else deep_copy(self._state)
        other._state_shared, other._own = self._state_shared, set(self._own)
        other._activities = {
            key: (kind, deep_copy(content)) for key, (kind, content) in self._activities.items()
        }
        other._texts = {key: buffer.copy() for key, buffer in self._texts.items()}
        other._calls = {key: buffer.copy() for key, buffer in self._calls.items()}
        other._tools, other._steps = dict(self._tools), dict(self._steps)
        return other

    def show(self, event: Event) -> Shown:
        """Zero, one or two events; the same object if nothing changes."""
        kind = event["type"]
        if self._alone is not None:
            event = self._alone.show(event)
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
            return []  # the patch applies to the state of the input, which links do not show
        event = self._with(event, "delta", plain(event["delta"]))
        if not self.hidden:
            return [event]
        # The snapshot that was sent can still refer to it, so it is copied before the first patch.
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
        event = self._with(event, "patch", plain(event["patch"]))
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
        redacted = self._object(content, kind)
        self._own.discard(name)
        if not isinstance(redacted, dict):
            return []
        return [_instead(event, "ACTIVITY_SNAPSHOT", "patch", content=redacted, replace=True)]

    # --- texts and calls

    def _content(self, event: Event) -> Shown:
        if not self.hidden:
            return [event]
        buffer = self._texts.setdefault(event["messageId"], Buffer())
        if buffer.blank:
            # White space does not show yet whether this is JSON, so it waits.
            buffer.is_json = looks_like_json(event["delta"]) or not event["delta"].strip()
        if not buffer.is_json:
            blank = [_joined(buffer, buffer.text)] if buffer.withheld else []
            buffer.forget()  # prose
            return [*blank, event]
        buffer.add(event["delta"])
        buffer.withheld.append(event)
        return []

    def _text_end(self, event: Event) -> Shown:
        buffer = self._texts.get(event["messageId"])
        if buffer is None or not buffer.withheld:
            return [event]
        return [_joined(buffer, self.hidden.text(buffer.text)), event]

    def _call_start(self, event: Event) -> Shown:
        self._tools[event["toolCallId"]] = event["toolCallName"]
        return [event]

    def _args(self, event: Event) -> Shown:
        if not self.hidden:
            return [event]
        buffer = self._calls.setdefault(event["toolCallId"], Buffer())
        buffer.add(event["delta"])
        buffer.withheld.append(event)
        return []

    def _call_end(self, event: Event) -> Shown:
        call = event["toolCallId"]
        buffer = self._calls.get(call)
        if buffer is None or not buffer.withheld:
            return [event]
        return [_joined(buffer, self.hidden.arguments(buffer.text, self._tools[call])), event]

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
        """A snapshot's text replaces the text read so far, including withheld text."""
        if message["role"] == "activity":
            self._activities[message["id"]] = message["activityType"], message["content"]
            self._own.discard(message["id"])
        elif self.hidden:
            content = message.get("content")
            self._texts[message["id"]] = Buffer(content if isinstance(content, str) else "")
            for call in message.get("toolCalls") or ():
                self._tools[call["id"]] = call["function"]["name"]
                self._calls[call["id"]] = Buffer(call["function"]["arguments"])

    def _message(self, message: Event) -> Event:
        if not ENCRYPTED.isdisjoint(message):
            message = {k: v for k, v in message.items() if k not in ENCRYPTED}
        calls = message.get("toolCalls")
        if calls:
            redacted = [self._call(call) for call in calls]
            if any(a is not b for a, b in zip(redacted, calls, strict=True)):
                message = {**message, "toolCalls": redacted}
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
        for name in ("error", "name"):
            if name in message:
                message = self._with(message, name, self.hidden.text(message[name]))
        return message

    def _call(self, call: Event) -> Event:
        if not ENCRYPTED.isdisjoint(call):
            call = {k: v for k, v in call.items() if k not in ENCRYPTED}
        function = call["function"]
        redacted = self.hidden.arguments(function["arguments"], function["name"])
        if redacted != function["arguments"]:
            call = {**call, "function": {**function, "arguments": redacted}}
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
            interrupts = [self._interrupt(each) for each in outcome["interrupts"]]
            event = {**event, "outcome": {**outcome, "interrupts": interrupts}}
        return [event]

    def _interrupt(self, interrupt: Event) -> Event:
        if rule := rule_of(interrupt):
            # It repeats an event or a call, whose names the paths are about: those show the rest.
            own = {name: interrupt[name] for name in BY_RULE if name in interrupt}
            return {**own, "reason": rule, "metadata": {MARK: {RULE: rule}}}
        redacted = dict(interrupt)
        for name in ("message", "reason"):
            if name in redacted:
                # A question about a call repeats its arguments in words.
                redacted[name] = self.hidden.text(redacted[name], strict=name == "message")
        for name in ("metadata", "responseSchema"):
            if name in redacted:
                redacted[name] = self._object(redacted[name], name)
        return redacted

    def _texts_of(self, event: Event) -> Shown:
        for name in ("message", "description", "name", "code"):
            if name in event:
                event = self._with(event, name, self.hidden.text(event[name]))
        return [event]

    def _step(self, event: Event) -> Shown:
        name = event["stepName"]
        if name not in self._steps and (visible := self.hidden.text(name)) != name:
            # Two steps that are open at once must not get the same name.
            self._steps[name] = f"{visible} {len(self._steps) + 1}"
        return [self._with(event, "stepName", self._steps.get(name, name))]

    # --- values

    def _value(self, value: Any, name: str) -> Any:
        return self.hidden.value(value, (name,))

    def _object(self, value: Any, name: str) -> Any:
        # A redacted value that stays an object where the protocol requires one.
        redacted = self._value(value, name)
        return {MASK: True} if redacted == MASK else redacted

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


def _joined(buffer: Buffer, redacted: str) -> Event:
    """The withheld text as one delta. If part of it was sent before, the rest stays hidden."""
    new = "".join(event["delta"] for event in buffer.withheld)
    hidden = MASK if buffer.partly_sent else redacted
    delta = new if redacted == buffer.text else hidden
    event = {**buffer.withheld[-1], "delta": delta}
    metadata: dict[str, Any] = {}
    for waiting in buffer.withheld:
        metadata |= waiting.get("metadata") or {}
    if metadata:
        event["metadata"] = metadata
    buffer.withheld = []
    buffer.partly_sent = True
    return event


def _instead(event: Event, kind: str, without: str, **fields: Any) -> Event:
    members = {name: value for name, value in event.items() if name not in ("type", without)}
    return {"type": kind, **members, **fields}


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
    "STEP_STARTED": LinkView._step,
    "STEP_FINISHED": LinkView._step,
    "TEXT_MESSAGE_START": LinkView._texts_of,
    "RUN_ERROR": LinkView._texts_of,
    "SUBAGENT_STARTED": LinkView._texts_of,
    "SUBAGENT_FINISHED": LinkView._finished,
    "SUBAGENT_ERROR": LinkView._texts_of,
}
