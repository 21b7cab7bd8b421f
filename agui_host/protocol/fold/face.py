"""A run's face: the beginnings of the question it was asked and of its last answer, for lists."""

from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import category, combining

from agui_host.protocol.encoding import clean_text
from agui_host.protocol.part_kinds import TEXT

LONGEST = 200
"""Characters of a preview."""
READ = 8 * LONGEST
"""Characters of a text that are read for its preview."""
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Categories of characters that break a line, reverse it or are invisible."""
_JOINER = "\u200d"
"""Emoji and some scripts need this invisible character."""


def preview(text: str) -> str:
    """The first ``LONGEST`` characters of a text on one line, without controls of its direction.

    A character is cut neither from its accents nor from the emoji that it is joined to.
    """
    beginning = clean_text(text.lstrip()[:READ].replace("\0", " "))
    line = " ".join(beginning.split())
    if not line.isprintable():
        line = "".join(each for each in line if each == _JOINER or category(each) not in _HIDDEN)
        line = " ".join(line.split())
    return line if len(line) <= LONGEST else _cut(line).rstrip()


def _cut(line: str) -> str:
    end = LONGEST
    while end > LONGEST - 20 and (_continues(line[end]) or line[end - 1] == _JOINER):
        end -= 1
    return line[:end]


def _continues(character: str) -> bool:
    return character == _JOINER or bool(combining(character)) or category(character) in {"Mn", "Me"}


def question_of(messages: Iterable[Any] | None) -> str:
    """The preview of the newest user message of an input, of its text parts; else empty.

    Empty as well if the agent has said something after it: that question was an earlier run's.
    """
    for message in reversed(list(messages or ())):
        if isinstance(message, Mapping) and message.get("role") == "user":
            return preview(_text(message.get("content")))
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            return ""
    return ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return " ".join(text[:READ] for text in texts if isinstance(text, str))


class Answered:
    """Follows a run's events for the last text that its agent said.

    A subagent's text counts only if the agent itself has said nothing. ``reading`` is the id of the
    message whose pieces matter at the moment.
    """

    __slots__ = ("_inside", "_length", "_pieces", "_said", "reading")

    def __init__(self) -> None:
        self.reading: str | None = None
        self._pieces: list[str] = []
        self._length, self._said, self._inside = 0, "", True

    @property
    def text(self) -> str:
        """The preview of the last text so far; empty if there was none."""
        return preview("".join(self._pieces)) or self._said

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take the next event of the log."""
        kind = event["type"]
        if kind == TEXT.content:
            if event["messageId"] == self.reading:
                self.hear(event["delta"])
        elif kind == TEXT.start:
            if event.get("role", "assistant") == "assistant":
                self._begin(event["messageId"], inside="subagentRunId" in event)
        elif kind == "MESSAGES_SNAPSHOT":
            self._restate(event["messages"])

    def hear(self, delta: str) -> None:
        """Take a piece of the message ``reading``."""
        if not self._pieces:
            delta = delta.lstrip()
        if delta:
            self._pieces.append(delta[:READ])
            self._length += len(delta)
            if self._length >= READ:
                self.reading = None

    def dump(self) -> list[Any]:
        """As JSON."""
        return [self.reading, "".join(self._pieces), self._said, self._inside]

    def load(self, dumped: list[Any]) -> None:
        """Take over what ``dump`` wrote."""
        self.reading, text, self._said, self._inside = dumped
        self._pieces, self._length = [text] if text else [], len(text)

    def _begin(self, name: str, *, inside: bool) -> None:
        if inside and not self._inside and self.text:
            return
        self._said, self._inside = self.text, inside
        self.reading, self._pieces, self._length = name, [], 0

    def _restate(self, messages: Iterable[Any]) -> None:
        for message in reversed(list(messages)):
            if message.get("role") == "user":
                return
            if message.get("role") != "assistant" or "subagentRunId" in message:
                continue
            if text := preview(_text(message.get("content"))):
                self._said, self._inside = text, False
                self.reading, self._pieces, self._length = None, [], 0
                return
