"""JSON from outside: what PostgreSQL or JavaScript could not carry is refused, with a reason."""

import json
import math

import pytest

from protocol.strict_json import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_VALUES,
    BadJson,
    dumps,
    dumps_any,
    has_too_many_values,
    loads,
)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, MAX_INTEGER, -MAX_INTEGER, "", "ä€😀", "\\u0000", [], {}, {"a": [{}]}],
)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert loads(dumps(value).encode()) == value
    assert loads(json.dumps(value).encode()) == value
    assert loads(b"\xef\xbb\xbf" + dumps(value).encode()) == value, "with a byte order mark"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e999", "too large"),
        (str(MAX_INTEGER + 1).encode(), "2^53"),
        (b"9" * 10_000, "2^53"),
        (rb'"\u0000"', "NUL"),
        (rb'{"\ud800": 1}', "surrogate"),
        (rb'["\udc00\ud800"]', "surrogate"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "deeper"),
        (b"[" * 200_000, "values"),
        (b"[" * 100_000, "deeper"),
        (b"[" + b"1," * MAX_VALUES + b"1]", "values"),
    ],
)
def test_what_could_not_be_stored_and_sent_on_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(BadJson) as refused:
        loads(body)
    assert reason in refused.value.message


def test_the_deepest_that_is_let_in_and_an_escaped_pair_are_fine() -> None:
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert loads(rb'"\ud83d\ude00"') == "😀"


def test_commas_inside_texts_are_no_values() -> None:
    assert not has_too_many_values(b'["' + b"," * (2 * MAX_VALUES) + b'"]')
    assert not has_too_many_values(rb'["\"' + b"[" * MAX_VALUES + b'"]')
    assert has_too_many_values(b"{" * MAX_VALUES)


def test_what_is_written_is_compact_and_has_no_nan_unless_an_agent_sent_it() -> None:
    assert dumps({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    with pytest.raises(ValueError, match="JSON"):
        dumps(math.nan)
    assert dumps_any(math.nan) == "NaN"
