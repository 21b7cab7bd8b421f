"""What every dialect is: a fold that turns the events of a log into the frames of its wire.

A dialect stores nothing. Its frames depend on the log alone, so they are the same for every reader
at any time, and a frame's number is derived: the ``seq`` of its event times ``PLACES`` plus its
place among the frames of that event. A reader that comes back gets a fold that is fed from the
start, and the frames behind the number that it has.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from protocol.deep_copy import deep_copy
from protocol.dialects.deltas import Part
from protocol.patch import PatchFailed, apply
from protocol.strict_json import dumps

Event = Mapping[str, Any]
Frame = dict[str, Any]

PLACES = 8
"""Frames that one event may become. The event that ends a log may become more: none follows it."""
MOST_FOLLOWED = 16_000
MOST_REPEATED = 2_000


class Dialect(Protocol):
    """The fold of one reader."""

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log; each has a ``type``."""
        ...

    def part(self, event: Event) -> Part | None:
        """What this delta and those behind it become; None if each has to be fed."""
        ...


def numbered(fold: Dialect, seq: int, event: Event) -> Iterator[tuple[int, Frame]]:
    """The frames of one event, each with its number."""
    return enumerate(fold.feed(event), seq * PLACES)


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

    Each event sends again what is known of its subagent, so only members of up to ``MOST_REPEATED``
    characters are remembered; a longer one is in the frame of its own event, and in no other.
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
"""What a fold does with each type of event that its dialect can express."""


Parts = Mapping[str, Callable[[Event], Part]]
"""For each type of delta that its dialect can express, what finds the part that one continues."""


class RuleFold:
    """A fold with a rule for each type of event; other events have no frames."""

    _rules: Rules
    _parts: Parts

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log."""
        if event["type"] in self._parts:
            return self.part(event).add(event["delta"])
        rule = self._rules.get(event["type"])
        return rule(event) if rule else []

    def part(self, event: Event) -> Part:
        """What this delta, and all that follow it in its part, become."""
        find = self._parts.get(event["type"])
        return find(event) if find else Part()
