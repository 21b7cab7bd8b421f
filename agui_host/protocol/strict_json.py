"""Strict reading of JSON from outside: refuses what Postgres or JavaScript could not carry.

Python's parser accepts NaN, integers of any size, lone surrogates and nesting that later code
cannot walk; each of them would fail in a worse place.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import orjson

from agui_host.protocol import patient_json
from agui_host.protocol.errors import BadRequest
from agui_host.protocol.patient_json import PIECE, count

MAX_DEPTH = 100
MAX_INTEGER = 2**53 - 1
MAX_VALUES = 300_000
"""How many values one text may hold. An object or array counts as three, because it takes far more
memory than its text."""

_INSIDE = r'[^"\\]*(?:\\.[^"\\]*)*'
_inside_text = re.compile(_INSIDE, re.DOTALL)
_inside_bytes = re.compile(_INSIDE.encode(), re.DOTALL)
_BACKSLASH, _NUL = rb"\\", rb"\u0000"
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
_LONG, _LARGE_EXPONENT = b"0" * 16, b"e000"
OVERLAP = len(_LONG) + 1
"""A text with a number that can be too large has one of the first two, all digits read as 0."""

_strictly: Callable[[Any], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
dumps_any: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""``dumps`` for a value of an agent or a command, which can contain NaN. Raises
TypeError for other values than JSON, ValueError for a value that contains itself."""
dumps_ascii: Callable[[Any], str] = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
"""Compact JSON without NUL or unpaired surrogates, for a column of the database. Raises as
``dumps_any``, and ValueError for NaN."""
dumps_sorted: Callable[[Any], str] = json.JSONEncoder(allow_nan=False, sort_keys=True).encode
"""``dumps_ascii`` with sorted members, for digests."""
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def dumps(value: Any) -> str:
    """The compact JSON text of a value that ``loads`` or intake let in.

    Raises ValueError for NaN and infinities. Python's own encoder takes 3 ms for a text of a
    megabyte, in which nothing else runs. It has the last word on what orjson refuses (unpaired
    surrogates, large integers, deep nesting), and on NaN, for which orjson writes ``null``.
    """
    try:
        encoded = orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _strictly(value)
    return _strictly(value) if b"null" in encoded and not _is_finite(value) else encoded.decode()


def _is_finite(root: Any) -> bool:
    """Whether no number in a JSON value is NaN or infinite; without recursion."""
    level = [root]
    while level:
        below: list[Any] = []
        for value in level:
            cls = value.__class__
            if cls is dict:
                below.extend(value.values())
            elif cls is list:
                below.extend(value)
            elif isinstance(value, tuple) or (
                isinstance(value, float) and not math.isfinite(value)
            ):  # left to Python's encoder
                return False
        level = below
    return True


def size_of(value: Any) -> int:
    """The size in bytes of the JSON of any value of an agent."""
    return len(text_of(value))


def text_of(value: Any) -> bytes | str:
    """JSON of any value of an agent, to be measured: NaN is written as null."""
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return dumps_any(value)


def answer(value: Any, default: Callable[[Any], Any]) -> bytes:
    """The JSON of an answer; ``default`` replaces values of other types. NaN is written as null.

    Raises TypeError for a large integer or an unpaired surrogate.
    """
    return orjson.dumps(value, default=default, option=orjson.OPT_PASSTHROUGH_DATETIME)


class BadJson(BadRequest):
    """The body is not acceptable JSON."""

    code = "bad_json"


def loads(data: bytes, *, any_text: bool = False) -> Any:
    """Parse UTF-8 JSON. Raises BadJson for anything that could not be stored and sent on.

    With ``any_text`` strings can contain NUL and unpaired surrogates, for events: intake joins
    halves that an agent has split, and escapes the rest.
    """
    if has_too_many_values(data):
        raise BadJson(f"The JSON holds more than {MAX_VALUES:,} values.")
    try:
        decoder = careful if _can_hold_large_numbers(data) else _quick
        value = patient_json.loads(data.decode("utf-8-sig"), decoder)
    except UnicodeDecodeError:
        raise BadJson("The body is not UTF-8.") from None
    except RecursionError:
        raise BadJson(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"The body is not JSON: {error.msg} at position {error.pos}.") from None
    if len(data) > MAX_DEPTH and count(data, "[{") > MAX_DEPTH:
        _check_depth(value)
    if b"\\u" in data and not any_text:  # only an escape can produce them
        _check_texts(value)
    return value


def has_too_many_values(data: bytes | str) -> bool:
    """Whether parsing a JSON text would take too much memory."""
    if 2 * len(data) <= MAX_VALUES:
        return False
    values = _values(data)
    if values > MAX_VALUES:  # or texts contain as many
        for begin, end in _texts(data):
            values -= _values(data, begin, end)
    return values > MAX_VALUES


def _values(data: bytes | str, begin: int = 0, end: int | None = None) -> int:
    return count(data, ",", begin, end) + 2 * count(data, "{[", begin, end)


def _texts(data: Any) -> Iterator[tuple[int, int]]:
    """Where the contents of strings are, those of long ones in pieces."""
    quote, inside = ('"', _inside_text) if isinstance(data, str) else (b'"', _inside_bytes)
    at = data.find(quote)
    while at >= 0:
        begin = end = at + 1
        while match := inside.match(data, begin, begin + PIECE):
            end = match.end()
            yield begin, end
            if end == begin or data[end : end + 1] == quote:
                break
            begin = end
        at = data.find(quote, end + 1)


def _can_hold_large_numbers(data: bytes) -> bool:
    # A pattern takes 30 ms for a megabyte, in which nothing else runs, and the parser one or two.
    for begin in range(0, len(data), PIECE):
        digits = data[begin : begin + PIECE + OVERLAP].translate(_DIGITS, b"+")
        if _LONG in digits or _LARGE_EXPONENT in digits:
            return True
    return False


def _check_depth(root: Any) -> None:
    """Refuse deep nesting, without recursion."""
    level, depth = [root], 0
    while level:
        if (depth := depth + 1) > MAX_DEPTH:
            raise BadJson(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
        below: list[Any] = []
        for value in level:
            parts = value.values() if isinstance(value, dict) else value
            if isinstance(value, dict | list):
                below += [part for part in parts if part.__class__ in (dict, list)]
        level = below


def _check_texts(value: Any) -> None:
    try:
        is_good = _NUL not in dumps(value).encode().replace(_BACKSLASH, b"")
    except UnicodeEncodeError:
        is_good = False
    if not is_good:
        raise BadJson("A string contains a NUL character or an unpaired surrogate.")


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise BadJson("An integer is larger than 2^53 - 1; send it as a string.")
    return int(text)


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise BadJson("A number is too large.")
    return value


def _constant(text: str) -> NoReturn:
    raise BadJson(f"{text} is not JSON.")


_quick = json.JSONDecoder(parse_constant=_constant)
"""Asks Python about no number: an array of integers is parsed in a third of the time."""
careful = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_constant)
"""Checks each number; for texts with possibly too large ones."""
