"""Reading JSON of many values bit by bit: Python's parser lets no other thread run until its end.

A text of 300,000 values takes it 30 ms, and four of them in four threads held up the deltas of
other teams for a quarter of a second. Here arrays and objects are read in windows of a few
thousand characters, each by Python's own parser, and other threads run in between. What counts or
quotes the characters of a long text takes a piece at a time for the same reason: the commas of ten
megabytes take 30 ms, quoting them 50.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from json.encoder import encode_basestring
from typing import Any

PIECE = 65_536
"""Characters, or bytes, for which such a call takes some tenths of a millisecond."""
LONG = 512 * 1024
"""Characters of a text that Python's parser reads at once, if it has few values."""
MANY = 10_000
"""Commas and brackets of a text that Python's parser reads in a millisecond or two."""
WINDOW = 8_192
"""Characters that are parsed at once, a long string apart."""
MOST_COMMAS = 64
"""Commas at the end of a window among which one between two elements is looked for."""
MOST_ALONE = 4_096
"""Elements that are read one by one, at most, before a window is tried again."""

_INSIDE = re.compile(r'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*')
_SPACES = re.compile(r"[ \t\n\r]*")
_plain = json.JSONDecoder()
_Ends = tuple[Any, int]


def count(text: bytes | str, marks: str, begin: int = 0, end: int | None = None) -> int:
    """How often the ASCII characters ``marks`` occur in all between the two positions."""
    end, number = len(text) if end is None else end, 0
    while begin < end:
        stop = min(begin + PIECE, end)
        for mark in marks:
            if isinstance(text, bytes):
                number += text.count(mark.encode(), begin, stop)
            else:
                number += text.count(mark, begin, stop)
        begin = stop
    return number


def pieces(text: str) -> Iterator[str]:
    """The text in pieces; the two halves of a surrogate pair stay together."""
    begin = 0
    while begin < len(text):
        stop = begin + PIECE
        if "\ud800" <= text[stop - 1 : stop] <= "\udbff":
            stop += 1
        yield text[begin:stop]
        begin = stop


def quote_long(text: str) -> str:
    """A text of more than a piece as a JSON string, with quotes."""
    quoted = [encode_basestring(piece)[1:-1] for piece in pieces(text)]
    return f'"{"".join(quoted)}"'


def loads(text: str | bytes, decoder: json.JSONDecoder = _plain) -> Any:
    """The value of a JSON text. Raises ValueError, RecursionError, and as the decoder does."""
    if isinstance(text, bytes):
        text = text.decode()
    if len(text) <= PIECE or (len(text) <= LONG and count(text, ",[{") <= MANY):
        return decoder.decode(text)
    reading = _Reading(text, decoder.scan_once)  # type: ignore[attr-defined]  # typeshed lacks it
    value, end = reading.value(_skip(text, 0))
    if (end := _skip(text, end)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


class _Reading:
    """One text, whose arrays and objects are read in windows, and one by one where that fails."""

    def __init__(self, text: str, scan: Callable[[str, int], _Ends]) -> None:
        self._text, self._scan = text, scan
        # Elements until a window is tried again, and after the next one that brings little.
        self._rest, self._pause = 0, 1

    def value(self, at: int) -> _Ends:
        """The value that begins here, and where it ends."""
        match self._text[at : at + 1]:
            case "[":
                return self._array(at)
            case "{":
                return self._object(at)
            case _:
                return self._scalar(at)

    def _string(self, at: int) -> _Ends:
        """The string that begins here, piece by piece, and where it ends."""
        text, parts, begin = self._text, list[str](), at + 1
        with suppress(ValueError):
            while True:
                stop = _inside(text, begin)
                part, _ = self._scan(f'"{text[begin:stop]}"', 0)
                if text[stop : stop + 1] == '"':
                    return "".join([*parts, part]), stop + 1
                if "\ud800" <= part[-1:] <= "\udbff" and text[stop - 1].isascii():
                    stop, part = stop - len("\\ud83d"), part[:-1]  # Its other half may follow.
                if stop == begin:
                    break
                parts.append(part)
                begin = stop
        return self._scan(text, at)  # The parser names what is wrong.

    def _scalar(self, at: int) -> _Ends:
        try:
            if self._text[at : at + 1] == '"':
                return self._string(at)
            return self._scan(self._text, at)
        except StopIteration:
            raise json.JSONDecodeError("Expecting value", self._text, at) from None

    def _array(self, begin: int) -> _Ends:
        values: list[Any] = []

        def alone(at: int) -> int:
            value, end = self.value(at)
            values.append(value)
            return end

        return values, self._parts(begin, "[]", values.extend, alone)

    def _object(self, begin: int) -> _Ends:
        members: dict[str, Any] = {}

        def alone(at: int) -> int:
            name, end = self._name(at)
            members[name], end = self.value(end)
            return end

        return members, self._parts(begin, "{}", members.update, alone)

    def _name(self, at: int) -> tuple[str, int]:
        """The name of the member that begins here, and where its value begins."""
        if self._text[at : at + 1] != '"':
            raise json.JSONDecodeError(
                "Expecting property name enclosed in double quotes", self._text, at
            )
        name, end = self._scalar(at)
        colon = _skip(self._text, end)
        if self._text[colon : colon + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", self._text, colon)
        return name, _skip(self._text, colon + 1)

    def _parts(
        self,
        begin: int,
        brackets: str,
        add: Callable[[Any], object],
        alone: Callable[[int], int],
    ) -> int:
        """Read all elements between two brackets; where these end."""
        text, at = self._text, _skip(self._text, begin + 1)
        if text[at : at + 1] == brackets[1]:
            return at + 1
        while True:
            if self._rest:
                self._rest -= 1
            elif (window := self._window(at, brackets)) is not None:
                add(window[0])
                at = _skip(text, window[1])
                continue
            at = _skip(text, alone(at))
            if text[at : at + 1] == brackets[1]:
                return at + 1
            if text[at : at + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            at = _skip(text, at + 1)

    def _window(self, at: int, brackets: str) -> _Ends | None:
        """The elements in the next characters up to a comma, and where that one ends.

        If they parse between these brackets, the comma is no part of a string or of an element.
        """
        window = None
        if (comma := self._comma(at)) > 0:
            part = f"{brackets[0]}{self._text[at:comma]}{brackets[1]}"
            with suppress(ValueError, StopIteration, RecursionError):
                some, end = self._scan(part, 0)
                if some and end == len(part):
                    window = some, comma + 1
        if window is not None and comma - at > WINDOW // 4:
            self._pause = 1
        else:
            self._rest, self._pause = self._pause, min(2 * self._pause, MOST_ALONE)
        return window

    def _comma(self, at: int) -> int:
        """A late comma in the window outside of the brackets that open in it; -1 without."""
        text = self._text
        comma = text.rfind(",", at, at + WINDOW)
        if comma < 0:
            return -1
        depth = _opened(text, at, comma)
        for _ in range(MOST_COMMAS):
            if not depth:
                return comma
            later, comma = comma, text.rfind(",", at, comma)
            if comma < 0:
                return -1
            depth -= _opened(text, comma, later)
        return -1


def _opened(text: str, begin: int, end: int) -> int:
    """How many more brackets are opened than closed there."""
    opened = text.count("[", begin, end) + text.count("{", begin, end)
    return opened - text.count("]", begin, end) - text.count("}", begin, end)


def _inside(text: str, begin: int) -> int:
    """How far the characters of a string go from here, a piece at most; no escape is cut."""
    match = _INSIDE.match(text, begin, begin + PIECE)
    return match.end() if match else begin


def _skip(text: str, at: int) -> int:
    while (match := _SPACES.match(text, at, at + PIECE)) and match.end() == at + PIECE:
        at = match.end()
    return match.end() if match else at
