"""The arguments of a tool call as legal JSON: completed where they were cut off.

A call that was cancelled while its arguments were streamed has half a text. Providers refuse such a
call in each later turn.
"""

import json
import re
from typing import Any, NoReturn

from agui_host.protocol.strict_json import dumps, has_too_many_values

NONE = "{}"
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],]', re.DOTALL)
_WHOLE = re.compile(r'"(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
"""A string up to where it ended or was cut off, without half an escape."""
_CLOSERS = {"{": "}", "[": "]"}


def or_empty(text: str) -> str:
    """``text``, and ``{}`` for a call without arguments: clients read both as JSON."""
    return text if text.strip() else NONE


def legal(text: str) -> str:
    """``text`` if it is JSON, else the JSON that it begins; ``{}`` for none and for ``null``.

    A cut off part is closed, or left out if that is not enough.
    """
    if text.strip() in ("", "null"):
        return NONE
    if has_too_many_values(text):  # It would take too much memory.
        return text
    if _is_legal(text):
        return text
    for attempt in (text, *_endings(text)):
        try:
            value = _reader.decode(attempt)
        except (ValueError, RecursionError):
            continue
        return attempt if _is_legal(attempt) else _written(value)
    return NONE


def _endings(text: str) -> list[str]:
    """The text with its open parts closed, and the text up to its last whole member, closed."""
    closers: list[str] = []
    whole, depth, tail = 0, 0, text
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece[0] == '"':
            if match.end() == len(text) or not piece.endswith('"'):
                intact = _WHOLE.match(text, match.start())
                tail = text if intact is None else text[: intact.end()] + '"'
            continue
        if piece in _CLOSERS:
            closers.append(_CLOSERS[piece])
        elif piece != "," and closers:
            closers.pop()
        whole, depth = match.end() - (piece == ","), len(closers)
    inner, outer = "".join(reversed(closers)), "".join(reversed(closers[:depth]))
    return [tail + inner, text[:whole] + outer]


def _is_legal(text: str) -> bool:
    try:
        _strict.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _written(value: Any) -> str:
    try:
        return dumps(value)
    except (ValueError, RecursionError):
        return NONE


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_strict = json.JSONDecoder(parse_constant=_refuse)
_reader = json.JSONDecoder(parse_constant=lambda _: None, strict=False)
"""Takes line breaks within strings, and NaN for null."""
