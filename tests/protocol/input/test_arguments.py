"""Arguments of a call are legal JSON, however they were cut off."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.input.arguments import legal, or_empty

LEAVES = st.none() | st.booleans() | st.integers(-9, 9_999) | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
CASES = {
    "none": ("", "{}"),
    "blanks": (" \n", "{}"),
    "null": ("null", "{}"),
    "whole": ('{"q": "al"}', '{"q": "al"}'),
    "no object": ("[1, 2]", "[1, 2]"),
    "within a text": ('{"q": "al', '{"q": "al"}'),
    "within an escape": ('{"q": "al\\', '{"q": "al"}'),
    "within a hex escape": ('{"q": "al\\u00', '{"q": "al"}'),
    "behind an escaped backslash": ('{"q": "al\\\\u00', '{"q": "al\\\\u00"}'),
    "within a name": ('{"q": 1, "na', '{"q": 1}'),
    "behind a name": ('{"q": 1, "name"', '{"q": 1}'),
    "behind a colon": ('{"q": 1, "name":', '{"q": 1}'),
    "behind a comma": ('{"q": 1,', '{"q": 1}'),
    "within a literal": ('{"q": [true, fal', '{"q": [true]}'),
    "within a list": ('{"q": [{"a": 1}, {"b": "c', '{"q": [{"a": 1}, {"b": "c"}]}'),
    "at its first character": ("{", "{}"),
    "a line break in a text": ('{"q": "a\nb"}', '{"q":"a\\nb"}'),
    "both": ('{"q": "a\nb', '{"q":"a\\nb"}'),
    "no number": ('{"q": NaN}', '{"q":null}'),
    "half a character": ('{"q": "\\ud83d"}', '{"q": "\\ud83d"}'),
    "no JSON": ("q=al", "{}"),
    "more than one": ('{"a": 1}{"b": 2}', "{}"),
    "too deep": ("[" * 100_000, "{}"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_they_become(case: str) -> None:
    text, expected = CASES[case]
    assert legal(text) == expected
    json.loads(legal(text))
    assert legal(legal(text)) == legal(text)


def test_a_text_of_very_many_values_is_not_parsed() -> None:
    text = "[" + "1," * 400_000
    assert legal(text) == text


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"q": "al', "null"])
def test_none_are_an_empty_object_and_others_stay(text: str) -> None:
    assert or_empty(text) == (text if text.strip() else "{}")


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1), st.data(), st.booleans())
def test_any_cut_gives_an_object(value: dict[str, object], data: st.DataObject, raw: bool) -> None:
    text = json.dumps(value, ensure_ascii=raw)
    cut = text[: data.draw(st.integers(1, len(text)))]
    read = json.loads(legal(cut))
    assert isinstance(read, dict)
    assert list(read) == list(value)[: len(read)]
    assert legal(text) == text
