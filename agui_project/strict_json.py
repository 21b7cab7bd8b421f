"""JSON from outside, read strictly: what Postgres or JavaScript could not carry is refused.

Python's parser accepts NaN, integers of any size, lone surrogates and a raw depth that later
code cannot walk; each of them would fail in a worse place.
"""

import json
import math
import re
from typing import Any, NoReturn

from agui_project.errors import BadRequest

MAX_DEPTH = 100
MAX_INTEGER = 2**53 - 1
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadJson(BadRequest):
    """The body is not acceptable JSON."""

    code = "bad_json"


def loads(data: bytes) -> Any:
    """Parse UTF-8 JSON. Raises BadJson for anything that could not be stored and sent on."""
    try:
        value = _decoder.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadJson("The body is not UTF-8.") from None
    except RecursionError:
        raise BadJson(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"The body is not JSON: {error.msg} at position {error.pos}.") from None
    _check(value)
    return value


def dumps(value: Any) -> str:
    """The compact JSON text of a value that ``loads`` or intake let in."""
    return _encoder.encode(value)


def _check(root: Any) -> None:
    """Walk without recursion: the depth and the strings."""
    level, depth = [root], 0
    while level:
        if (depth := depth + 1) > MAX_DEPTH:
            raise BadJson(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, dict):
                for key in value:
                    _check_text(key)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        level = below


def _check_text(text: str) -> None:
    if _UNSTORABLE.search(text):
        raise BadJson("A string holds a NUL character or half a surrogate pair.")


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


_decoder = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_constant)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
