"""How much of a log one answer holds: a run can have 100 MB of text, and a process many readers.

Deltas are passed on whole. Only a fold's sums of them are bounded, because its wire wants
it in one piece: an answer that is not streamed, or the text that ends a streamed one.
"""

from collections.abc import Sequence
from io import StringIO
from typing import Any

from agui_host.protocol.strict_json import dumps

MOST_CHARACTERS = 8 * 1024 * 1024
ITEM = 200
"""A text's cost in addition to its characters: otherwise empty messages would be unbounded."""
Message = dict[str, Any]


class Room:
    """The room for all texts of one answer.

    The first text that does not fit is cut, and ends with a mark that has the address of all of it;
    later texts are empty.
    """

    def __init__(self, whole: str) -> None:
        """``whole``: the address of all that is cut here."""
        self._left = MOST_CHARACTERS
        self.mark = (
            f"\n\n[Cut here: this answer has room for {MOST_CHARACTERS:,} characters. "
            f"The whole: {whole}]"
        )
        self.full = False
        """Whether a text was cut."""

    def take(self, characters: int) -> bool:
        """Whether there is room for so many; if so, it is taken."""
        fits = characters <= self._left
        if fits:
            self._left -= characters
        return fits

    def fit(self, text: str) -> str:
        """The text, as far as there is room for it."""
        if self.full or not text:
            return ""
        if (size := len(text)) <= self._left:
            self._left -= size
            return text
        self.full = True
        return text[: max(self._left, 0)] + self.mark

    def refit(self, before: str | None, text: str) -> str:
        """``fit`` for a text that takes the place of the one before."""
        self.take(-len(before or ""))
        return self.fit(text)

    def value(self, value: Any) -> Any:
        """A value of JSON, or if there is no room for it a text in its place."""
        if isinstance(value, str):
            return self.fit(value)
        if not self.full and self.take(len(dumps(value))):
            return value
        mark = "" if self.full else self.mark
        self.full = True
        return mark


class Text:
    """A text that comes in pieces, as far as there is room for it."""

    def __init__(self, room: Room) -> None:
        self._room, self._buffer = room, StringIO()
        self.began = False
        """Whether a piece has come."""
        room.take(ITEM)

    def add(self, piece: str) -> None:
        """Take the next piece."""
        self.began = True
        if not self._room.full:
            self._buffer.write(self._room.fit(piece))

    def replace(self, text: str) -> None:
        """Take another text instead, which has the room of the one before as well."""
        self._room.take(-self._buffer.tell())
        self._buffer = StringIO()
        self.began = False
        self.add(text)

    def __str__(self) -> str:
        return self._buffer.getvalue()


def of_run(run_id: str) -> Room:
    """The room of an answer about one run."""
    return Room(f"/api/v1/runs/{run_id}/events")


def newest(messages: Sequence[Message], room: Room) -> list[Message]:
    """The newest messages that there is room for, of the last one at least a part; oldest first."""
    fitting: list[Message] = []
    for message in reversed(messages):
        if not room.take(characters(message)):
            if not fitting:
                fitting.append(_cut(message, room))
            break
        fitting.append(message)
    return fitting[::-1]


def shortened(message: Message, whole: str) -> Message:
    """A message, cut if it is too long for a separate answer. ``whole`` is as for ``Room``."""
    fits = characters(message) <= MOST_CHARACTERS
    return message if fits else _cut(message, Room(whole))


def characters(message: Message) -> int:
    """The room that a message takes."""
    content = message.get("content") or ""
    calls = sum(len(call["function"]["arguments"]) for call in message.get("toolCalls") or ())
    return calls + ITEM + len(content if isinstance(content, str) else dumps(content))


def _cut(message: Message, room: Room) -> Message:
    content = {"content": room.value(message["content"])} if "content" in message else {}
    calls = [
        {**call, "function": {**call["function"], "arguments": room.fit(_arguments(call))}}
        for call in message.get("toolCalls") or ()
    ]
    return {**message, **content, **({"toolCalls": calls} if calls else {})}


def _arguments(call: Message) -> str:
    return str(call["function"]["arguments"])
