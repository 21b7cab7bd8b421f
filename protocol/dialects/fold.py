"""What every dialect is: a fold that turns the events of a log into the frames of its wire.

A dialect stores nothing. Its frames depend on the log alone, so they are the same for every reader
at any time, and a frame's number is derived: the ``seq`` of its event times ``PLACES`` plus its
place among the frames of that event. A reader that comes back gets a fold that is fed from the
start, and the frames behind the number that it has.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from protocol.deep_copy import deep_copy
from protocol.patch import PatchFailed, apply

Event = Mapping[str, Any]
Frame = dict[str, Any]

PLACES = 8
"""Frames that one event may become. The event that ends a log may become more: none follows it."""


class Dialect(Protocol):
    """The fold of one reader."""

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log; each has a ``type``."""
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
    """The activities of a log, for dialects that can only send them whole."""

    def __init__(self) -> None:
        self._contents: dict[str, Any] = {}

    def feed(self, event: Event) -> tuple[str, Frame] | None:
        """The id and the new content of an activity; None if the event changes nothing."""
        key = event["messageId"]
        if event["type"] == "ACTIVITY_SNAPSHOT":
            if key in self._contents and event.get("replace") is False:
                return None
            self._contents[key] = deep_copy(event["content"])
        elif key not in self._contents:
            return None
        else:
            try:
                self._contents[key] = apply(deep_copy(self._contents[key]), event["patch"])
            except PatchFailed:
                return None
        content = deep_copy(self._contents[key])
        return key, {"activityType": event["activityType"], "content": content}


Rules = Mapping[str, Callable[[Event], list[Frame]]]
"""What a fold does with each type of event that its dialect can express."""


class RuleFold:
    """A fold with a rule for each type of event; other events have no frames."""

    _rules: Rules

    def feed(self, event: Event) -> list[Frame]:
        """The frames for the next event of the log."""
        rule = self._rules.get(event["type"])
        return rule(event) if rule else []
