"""What every dialect is: a fold that turns the events of a log into the frames of its wire.

A dialect stores nothing. Its frames depend on the log alone, so they are the same for every reader
at any time, and a frame's number is derived: the ``seq`` of its event times ``PLACES`` plus its
place among the frames of that event. A reader that comes back gets a fold that is fed from the
start, and the frames after its number.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

from agui_host.protocol.deep_copy import deep_copy
from agui_host.protocol.fold.account import SNAPSHOT, Account, events_of
from agui_host.protocol.patch import PatchFailed, apply
from agui_host.protocol.strict_json import dumps
from agui_host.protocol.wire.deltas import Part

Event = Mapping[str, Any]
Frame = dict[str, Any]

PLACES = 16_384
"""Frames that one event can become. The event that ends a log can become more: none follows it.

Most become one or a few. A MESSAGES_SNAPSHOT becomes those of all messages that only it brings; of
one with thousands the rest is left out.
"""
MOST_OF_EVENT = 8
"""Frames that any event becomes but a snapshot and the end of the log."""
MOST_FOLLOWED = 16_000
MOST_REPEATED = 2_000


class Dialect(Protocol):
    """The fold of one reader."""

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log; each has a ``type``."""
        ...

    def part(self, event: Event) -> Part | None:
        """The form of this delta and of later ones; None if each has to be fed."""
        ...


def numbered(fold: Dialect, seq: int, event: Event) -> Iterator[tuple[int, Frame]]:
    """The frames of one event, each with its number."""
    return enumerate(fold.feed(event), seq * PLACES)


def last_of(seq: int) -> int:
    """The highest number that a frame of this event can have: all that comes after is newer."""
    return (seq + 1) * PLACES - 1


def text_of(content: Any) -> str:
    """The text of a content that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part["type"] == "text")


class Activities:
    """The activities of a log, for dialects that can only send them whole.

    Each delta makes the whole content again, so only one of up to ``MOST_FOLLOWED`` characters is
    followed: a page of deltas on a large one would become gigabytes.
    """

    def __init__(self) -> None:
        self._contents: dict[str, Any] = {}
        self._large: set[str] = set()

    def feed(self, event: Event) -> tuple[str, Frame] | None:
        """The id and the new content of an activity; None if the event changes nothing.

        A larger one is sent with its snapshot, and not again before the next.
        """
        key = event["messageId"]
        if event["type"] == "ACTIVITY_SNAPSHOT":
            known = key in self._contents or key in self._large
            if known and event.get("replace") is False:
                return None
            content = event["content"]
        elif key not in self._contents:
            return None
        else:
            try:
                content = apply(deep_copy(self._contents[key]), event["patch"])
            except PatchFailed:
                return None
        if len(dumps(content)) > MOST_FOLLOWED:
            self._contents.pop(key, None)
            self._large.add(key)
            if event["type"] == "ACTIVITY_DELTA":
                return None
        else:
            self._contents[key] = deep_copy(content)
            self._large.discard(key)
        return key, {"activityType": event["activityType"], "content": content}


class Subagents:
    """The subagents of a log, for dialects that can only send them whole.

    Each event repeats the known members of its subagent, so only members of up to ``MOST_REPEATED``
    characters are remembered; a longer one is in its own event's frame, and in no other.
    """

    def __init__(self) -> None:
        self._known: dict[str, Frame] = {}

    def feed(self, event: Event) -> tuple[str, Frame]:
        """The id of a subagent, and its members with its status."""
        key = event["subagentRunId"]
        status = event["type"].removeprefix("SUBAGENT_").lower()
        brought = {name: event[name] for name in _MEMBERS if name in event}
        short = {
            name: value for name, value in brought.items() if len(dumps(value)) <= MOST_REPEATED
        }
        known = {name: v for name, v in self._known.get(key, {}).items() if name not in brought}
        self._known[key] = {**known, **short}
        return key, {**known, **brought, "status": status}


_MEMBERS = ("name", "description", "parentSubagentRunId", "message", "result")


Rules = Mapping[str, Callable[[Event], list[Frame]]]
"""A fold's methods by the types of events that its dialect can express."""


Parts = Mapping[str, Callable[[Event], Part]]
"""For each type of delta that its dialect can express, what finds the part that one continues."""


class RuleFold:
    """A fold with a rule for each type of event; other events have no frames.

    What only a MESSAGES_SNAPSHOT brings goes through the same rules, as the events that would have
    brought it. ``CORRECTION`` is the rule for a part that a snapshot changes after it was sent.
    """

    _rules: Rules
    _parts: Parts

    @cached_property
    def account(self) -> Account:
        """The log's streamed parts so far."""
        return Account()

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log."""
        if event["type"] == SNAPSHOT:
            return self._restated(event)
        frames: list[Frame] = []
        for each in events_of(event):
            self.account.take(each)
            frames += self._fed(each)
        return frames

    def part(self, event: Event) -> Part:
        """What this delta, and all that follow it in its part, become."""
        find = self._parts.get(event["type"])
        return find(event)._replace(heard=self.account.heard(event)) if find else Part()

    def _restated(self, event: Event) -> list[Frame]:
        frames: list[Frame] = []
        for each in self.account.restate(event):
            if len(frames) <= PLACES - MOST_OF_EVENT:
                frames += self._fed(each)
        return frames

    def _fed(self, event: Event) -> list[Frame]:
        if find := self._parts.get(event["type"]):
            return find(event).add(event["delta"])
        rule = self._rules.get(event["type"])
        return rule(event) if rule else []
