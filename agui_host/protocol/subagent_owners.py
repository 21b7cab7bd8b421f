"""Owners: which agent or subagent each message, call, activity and reasoning belongs to.

Rules V10 to V12. An id is unique within its kind only, so each kind has its own record. Owners
outlive their parts, because a closed id can be reopened and late events can name it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_host.protocol.violation import ABSENT, Event, Owner, Violation, named, tag_of


class Owners:
    """The parts of one run and their owners. Spans and reasoning messages share ``reasoning``."""

    __slots__ = ("activities", "calls", "messages", "reasoning")

    def __init__(self) -> None:
        self.messages: dict[str, Owner] = {}
        self.calls: dict[str, Owner] = {}
        self.reasoning: dict[str, Owner] = {}
        self.activities: dict[str, Owner] = {}

    def of_call(self, event: Event) -> Any:
        """The owner of the call that a TOOL_CALL_START opens; ABSENT if unknown.

        A call belongs to the message that carries it, so without a tag it inherits that message's
        owner, and a tag must match it.
        """
        tag, parent = tag_of(event), event.get("parentMessageId")
        if parent is not None and parent in self.messages:
            if tag is not ABSENT:
                agree(event, tag, self.messages, parent, "V11")
            tag = self.messages[parent]
        if tag is not ABSENT:
            agree(event, tag, self.calls, event["toolCallId"], "V11")
        return tag

    def learn(self, messages: Iterable[Event], *, overrides: bool) -> None:
        """Learn owners from history: a snapshot replaces known ones, an echoed input does not."""
        kinds = {"reasoning": self.reasoning, "activity": self.activities}
        for message in messages:
            owners = kinds.get(message["role"], self.messages)
            owner = message.get("subagentRunId")
            if overrides or message["id"] not in owners:
                owners[message["id"]] = owner
            for call in message.get("toolCalls") or ():
                if overrides or call["id"] not in self.calls:
                    self.calls[call["id"]] = owner

    def activity_snapshot(self, event: Event) -> None:
        """Only a replacing snapshot creates a new activity and so can change its owner."""
        if event["messageId"] not in self.activities or event.get("replace") is not False:
            self.activities[event["messageId"]] = event.get("subagentRunId")

    def activity_delta(self, event: Event) -> None:
        """The tag of a delta must match the activity's owner."""
        if (tag := tag_of(event)) is not ABSENT:
            agree(event, tag, self.activities, event["messageId"], "V12")

    def encrypted_value(self, event: Event) -> None:
        """The tag must match the owner of the call or message that the event names."""
        if (tag := tag_of(event)) is ABSENT:
            return
        owners, entity = self.calls, event["entityId"]
        if event["subtype"] == "message":
            owners = self.messages if entity in self.messages else self.reasoning
        agree(event, tag, owners, entity, "V12")


def agree(event: Event, tag: Owner, owners: Mapping[str, Owner], part: str, rule: str) -> None:
    """Raise Violation(rule) if ``part`` is known to belong to another owner than ``tag``."""
    if owners.get(part, tag) != tag:
        raise Violation(
            rule,
            f"{event['type']}: '{part}' belongs to {named(owners[part])}, not to {named(tag)}.",
        )
