"""The messages of a conversation, built event by event as a stock client builds them.

Follows ``defaultApplyEvents`` of ``@ag-ui/client`` 1.0.0, including its reactions to unknown ids
and to ids of the wrong kind.
"""

from collections.abc import Callable, Iterable

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.fold.message import Call, Event, Message, Wire, merge, only
from agui_host.protocol.patch import PatchFailed, apply

AUTHORITY = "@ag-ui/client"
"""Where the metadata of a MESSAGES_SNAPSHOT can list the activity types that it covers."""


class Messages:
    """An ordered list of messages, and the ways in which events change it.

    If several messages have the same id or call id, it means the first of them, as in the
    client.
    """

    def __init__(self, messages: Iterable[Event] = ()) -> None:
        self._all = [Message(message) for message in messages]
        self._by_id: dict[str, Message] = {}
        self._by_call: dict[str, tuple[Message, Call]] = {}
        self._index()

    def wire(self) -> list[Wire]:
        """The messages as a MESSAGES_SNAPSHOT carries them, in a new list each time."""
        return [message.wire() for message in self._all]

    def holds(self, message_id: str) -> bool:
        """Whether a message has this id."""
        return message_id in self._by_id

    def call(self, call_id: str) -> Call | None:
        """The tool call of this id; None if no message has it."""
        entry = self._by_call.get(call_id)
        return None if entry is None else entry[1]

    def add_unknown(self, messages: Iterable[Event]) -> None:
        """RUN_STARTED.input.messages: add messages with new ids."""
        for message in messages:
            if message["id"] not in self._by_id:
                self._push(Message(message))

    def text_start(self, event: Event) -> None:
        """TEXT_MESSAGE_START: create the message, or continue the one with this id."""
        fields = {"id": event["messageId"], "role": event.get("role", "assistant"), "content": ""}
        self._open(event, fields | only(event, "name", "subagentRunId"))

    def reasoning_start(self, event: Event) -> None:
        """REASONING_MESSAGE_START: the same for a reasoning message."""
        fields = {"id": event["messageId"], "role": "reasoning", "content": ""}
        self._open(event, fields | only(event, "subagentRunId"))

    def text(self, event: Event) -> None:
        """TEXT_MESSAGE_CONTENT and REASONING_MESSAGE_CONTENT."""
        message = self._by_id.get(event["messageId"])
        if message is not None and not message.is_activity:
            message.deltas.append(event["delta"])
            if "metadata" in event:
                merge(message.fields, event)

    def text_end(self, event: Event) -> None:
        """TEXT_MESSAGE_END and REASONING_MESSAGE_END carry nothing but metadata."""
        message = self._by_id.get(event["messageId"])
        if message is not None and not message.is_activity:
            merge(message.fields, event)

    def call_start(self, event: Event) -> None:
        """TOOL_CALL_START: a new call on its message, or a new name for a known call."""
        call_id, name = event["toolCallId"], event["toolCallName"]
        known = self._by_call.get(call_id)
        if known is not None:
            known[1].function["name"] = name
        else:
            message = self._carrier(event)
            call = Call({"id": call_id, "type": "function", "function": {}})
            call.function = {"name": name, "arguments": ""}
            if message.calls is None:
                message.calls = []
            message.calls.append(call)
            known = self._by_call[call_id] = (message, call)
        merge(known[1].fields, event)

    def call_args(self, event: Event) -> None:
        """TOOL_CALL_ARGS."""
        known = self._by_call.get(event["toolCallId"])
        if known is not None:
            known[1].args.append(event["delta"])
            if "metadata" in event:
                merge(known[1].fields, event)

    def call_end(self, event: Event) -> None:
        """TOOL_CALL_END carries nothing but metadata."""
        known = self._by_call.get(event["toolCallId"])
        if known is not None:
            merge(known[1].fields, event)

    def result(self, event: Event) -> None:
        """TOOL_CALL_RESULT: a tool message behind its call and the results already there."""
        fields = {"id": event["messageId"], "toolCallId": event["toolCallId"], "role": "tool"}
        message = Message(fields | only(event, "content", "subagentRunId"))
        merge(message.fields, event)
        known = self._by_call.get(event["toolCallId"])
        if known is None or known[0].fields["role"] != "assistant":
            self._push(message)
            return
        at = self._place(known[0]) + 1
        while at < len(self._all) and self._all[at].fields["role"] == "tool":
            at += 1
        self._all.insert(at, message)
        self._index(message)

    def activity(self, event: Event) -> None:
        """ACTIVITY_SNAPSHOT: create the activity, or replace whatever message has its id."""
        fields = {"id": event["messageId"], "role": "activity"}
        fields |= only(event, "activityType", "content", "subagentRunId")
        message = self._by_id.get(event["messageId"])
        if message is None:
            message = Message(fields)
            self._push(message)
        elif event.get("replace") is not False:
            if message.is_activity:
                fields |= only(message.fields, "metadata")
            had_calls = message.calls
            message.become(fields)
            if had_calls:
                self._index()
        if message.is_activity:
            merge(message.fields, event)

    def activity_delta(self, event: Event) -> None:
        """ACTIVITY_DELTA. A patch that does not apply changes nothing but the metadata."""
        message = self._by_id.get(event["messageId"])
        if message is None or not message.is_activity:
            return
        merge(message.fields, event)
        content = message.fields["content"]
        try:
            message.fields["content"] = apply(
                deep_copy(content) if message.shared else content, event["patch"]
            )
        except PatchFailed:
            return
        message.shared = False
        message.fields["activityType"] = event["activityType"]

    def encrypted(self, event: Event) -> None:
        """REASONING_ENCRYPTED_VALUE: store it on the call or message that it names."""
        if event["subtype"] == "tool-call":
            known = self._by_call.get(event["entityId"])
            if known is not None and known[0].fields["role"] == "assistant":
                _encrypt(known[1].fields, event)
            return
        message = self._by_id.get(event["entityId"])
        if message is not None and not message.is_activity:
            _encrypt(message.fields, event)

    def snapshot(self, event: Event) -> None:
        """MESSAGES_SNAPSHOT: replace known messages in place, append new ones, drop the rest.

        Activities stay if it contains none, and so do reasoning messages.
        """
        fresh = [Message(message) for message in event["messages"]]
        by_id = {message.fields["id"]: message for message in fresh}
        roles = {message.fields["role"] for message in fresh}
        activity_stays = _activity_stays(event.get("metadata") or {}, "activity" not in roles)

        def stays(message: Message) -> bool:
            if message.is_activity:
                return activity_stays(message.fields["activityType"])
            return "reasoning" not in roles and message.fields["role"] == "reasoning"

        remaining = [
            by_id.get(message.fields["id"], message)
            for message in self._all
            if message.fields["id"] in by_id or stays(message)
        ]
        known = {message.fields["id"] for message in remaining}
        self._all = remaining + [message for message in fresh if message.fields["id"] not in known]
        self._index()

    def _open(self, event: Event, fields: Wire) -> None:
        message = self._by_id.get(event["messageId"])
        if message is None:
            message = Message(fields)
            self._push(message)
        if not message.is_activity:
            merge(message.fields, event)

    def _carrier(self, event: Event) -> Message:
        """The assistant message for a new call: its parent, or else a new one."""
        parent = event.get("parentMessageId") or None
        candidate = None if parent is None else self._by_id.get(parent)
        if candidate is not None and candidate.fields["role"] == "assistant":
            return candidate
        name = event["toolCallId"] if parent is None or candidate is not None else parent
        message = Message({"id": name, "role": "assistant", "toolCalls": []})
        if name not in self._by_id:
            message.fields |= only(event, "subagentRunId")
        self._push(message)
        return message

    def _push(self, message: Message) -> None:
        self._all.append(message)
        self._index(message)

    def _place(self, message: Message) -> int:
        for back, candidate in enumerate(reversed(self._all), 1):
            if candidate is message:
                return len(self._all) - back
        raise AssertionError("an indexed message is in the list")

    def _index(self, message: Message | None = None) -> None:
        """Index one new message, or rebuild the whole index."""
        if message is None:
            self._by_id, self._by_call = {}, {}
        for each in self._all if message is None else (message,):
            self._by_id.setdefault(each.fields["id"], each)
            for call in each.calls or ():
                self._by_call.setdefault(call.fields["id"], (each, call))


def _encrypt(fields: Wire, event: Event) -> None:
    fields.pop("encryptedValueType", None)
    fields |= only(event, "encryptedValue", "encryptedValueType")


def _activity_stays(metadata: Event, silent: bool) -> Callable[[str], bool]:
    """Which activity types survive a snapshot that leaves them out.

    Unless its metadata lists them, all of them do if the snapshot has no activity at all
    (``silent``).
    """
    declared = metadata.get(AUTHORITY, {})
    if not isinstance(declared, dict):
        return lambda kind: True
    if "authoritativeActivityTypes" not in declared:
        return lambda kind: silent
    types = declared["authoritativeActivityTypes"]
    if types is None:
        return lambda kind: False
    if isinstance(types, list) and all(isinstance(kind, str) for kind in types):
        return lambda kind: kind not in types
    return lambda kind: True
