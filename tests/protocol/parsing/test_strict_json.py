"""JSON from outside: what PostgreSQL or JavaScript could not carry is refused, with a reason."""

import json
import math
import time
import timeit
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.strict_json import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_VALUES,
    BadJson,
    dumps,
    dumps_any,
    has_too_many_values,
    loads,
    size_of,
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


EXACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_the_quick_encoder_writes_what_pythons_own_writes(value: object) -> None:
    """Also unpaired surrogates, control characters and large integers."""
    assert dumps(value) == EXACT(value)
    assert size_of(value) in (len(EXACT(value)), len(EXACT(value).encode(errors="replace")))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_comes_back_as_it_was(number: float) -> None:
    assert json.loads(dumps([number])) == [number]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_deep_inside_is_refused_beside_null(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps({"a": [None, {"b": [1, number]}], "null": "null"})
    with pytest.raises(ValueError, match="JSON"):
        dumps([None, (number,)])
    assert dumps({"a": None, "null": ["null", (1.5, 2)]}) == '{"a":null,"null":["null",[1.5,2]]}'
    assert size_of([number]) > 0


@pytest.mark.parametrize("value", [{1}, b"bytes", object(), datetime.now(UTC)])
def test_what_is_not_json_is_refused(value: object) -> None:
    for encode in (dumps, size_of):
        with pytest.raises(TypeError, match="not JSON serializable"):
            encode({"a": value})


def test_what_is_nested_deeply_is_written_all_the_same() -> None:
    deep: object = "x"
    for _ in range(400):
        deep = [deep]
    assert dumps(deep) == EXACT(deep)
    assert size_of(deep) == len(EXACT(deep))


@pytest.mark.parametrize(
    "text",
    ["a", "a,", "1" * 15 + " ", "e00", "é", "\n", "\\", "\\\\u0000"],
    ids=["letters", "commas", "digits", "exponents", "accents", "escapes", "backslashes", "no NUL"],
)
def test_a_megabyte_takes_a_few_times_as_long_as_pythons_parser(text: str) -> None:
    """A pattern over all of it took 40 times as long, and let no other thread run meanwhile."""
    data = json.dumps({"text": text * (1_000_000 // len(text)), "x": "\u00fc"}).encode()
    parse, strict = (
        min(timeit.repeat(lambda read=read: read(data), timer=time.thread_time, number=1, repeat=5))  # type: ignore[misc]
        for read in (json.loads, loads)
    )
    assert strict < 30 * parse


@given(st.text(alphabet="\\u0\x00a", max_size=12))
def test_a_nul_is_found_among_backslashes(text: str) -> None:
    data = json.dumps([text, "\u00fc"]).encode()
    if "\0" in text:
        with pytest.raises(BadJson, match="NUL"):
            loads(data)
    else:
        assert loads(data) == [text, "ü"]


@given(st.text(alphabet="0123456789eE+-.,a", max_size=40) | st.integers(10**14, 10**18).map(str))
def test_every_number_that_is_too_large_is_found(text: str) -> None:
    """Whatever stands around it, in a text that is JSON: the quick look sends it to the careful."""
    try:
        value = json.loads(f"[{text}]")
    except ValueError:
        return
    too_large = any(
        abs(number) > 2**53 - 1 if isinstance(number, int) else math.isinf(number)
        for number in value
    )
    if too_large:
        with pytest.raises(BadJson, match="large"):
            loads(f"[{text}]".encode())
    else:
        assert loads(f"[{text}]".encode()) == value
