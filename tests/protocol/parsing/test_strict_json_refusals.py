"""JSON from outside: everything that could not be stored and sent on is refused by one error."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.strict_json import MAX_DEPTH, MAX_INTEGER, BadJson, careful, dumps, loads


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"{'a': 1}",
        b'{"a" 1}',
        b'{"a": 1} x',
        b"[01]",
        b"nul",
        b'"\x01"',
        b'"tab\tinside"',
        b'"\\x41"',
        b'"\\u12"',
        b"NaN",
        b'{"a": [NaN]}',
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"[-1e999]",
        b"9007199254740992",
        b"-9007199254740992",
        b"1" * 5_000,
        b"\xff\xfe{\x00}\x00",
        b'"\xc3"',
        b'"\xed\xa0\x80"',
        b'"\\u0000"',
        b'{"\\u0000": 1}',
        b'{"a": {"b": ["\\ud800"]}}',
        b'"\\udc00\\ud800"',
        b'{"\\udfff": 1}',
        nested(MAX_DEPTH + 1),
        nested(1_000),
        nested(100_000),
        b'{"a":' * 100_000,
        b'{"a":' * 1_000 + b"1" + b"}" * 1_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_cannot_be_kept_is_refused(data: bytes) -> None:
    with pytest.raises(BadJson) as refused:
        loads(data)
    assert (refused.value.status, refused.value.code) == (400, "bad_json")
    assert len(refused.value.message) < 200


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"9007199254740991", MAX_INTEGER),
        (b"-9007199254740991", -MAX_INTEGER),
        (b"1e308", 1e308),
        (b"5e-324", 5e-324),
        (b"1e-999", 0.0),
        (b"-0.0", -0.0),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b' \n{"a"\t: null}\r\n', {"a": None}),
        (b'"\\ud83d\\ude00"', "😀"),
        ('"ü😀\u2028"'.encode(), "ü😀\u2028"),
        (b'"\\u0001"', "\x01"),
        (b"true", True),
    ],
)
def test_what_can_be_kept_is_read(data: bytes, value: Any) -> None:
    assert loads(data) == value


def test_the_last_of_equal_keys_counts() -> None:
    assert loads(b'{"a": 1, "b": 0, "a": 2}') == {"a": 2, "b": 0}


def test_the_deepest_allowed() -> None:
    assert loads(nested(MAX_DEPTH)) == json.loads(nested(MAX_DEPTH))


def test_a_wide_body_is_read_whole() -> None:
    data = json.dumps([{"n": n} for n in range(50_000)]).encode()
    assert len(loads(data)) == 50_000


def test_output_is_compact_and_never_nan() -> None:
    assert dumps({"a": [1, "ü\x00"]}) == '{"a":[1,"ü\\u0000"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(math.nan)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_bad_json(data: bytes) -> None:
    try:
        value = loads(data)
    except BadJson:
        return
    assert loads(dumps(value).encode()) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.text(), part),
        max_leaves=20,
    )
)
def test_what_is_read_survives_storage_and_javascript(value: Any) -> None:
    try:
        read = loads(json.dumps(value).encode())
    except BadJson:
        return
    text = dumps(read)
    text.encode()  # no lone surrogate is left
    assert "\x00" not in text
    assert loads(text.encode()) == read


NUMBER = r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,4})?"


@given(st.from_regex(NUMBER, fullmatch=True))
def test_numbers_are_read_in_the_same_way_at_either_speed(number: str) -> None:
    """``loads`` asks Python about each number only in a text with one that may be too large."""
    try:
        expected = careful.decode(f"[{number}]")
    except BadJson:
        with pytest.raises(BadJson):
            loads(f"[{number}]".encode())
    else:
        assert repr(loads(f"[{number}]".encode())) == repr(expected)
