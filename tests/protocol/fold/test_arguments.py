"""How far the JSON of a call's arguments has come, told without keeping it."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.fold.arguments import BEGUN, squeezed
from tests.protocol.legal import JSON


def read(*pieces: str) -> bool:
    arguments = BEGUN
    for piece in pieces:
        arguments = arguments.read(piece)
    return arguments.are_complete


@pytest.mark.parametrize(
    ("pieces", "complete"),
    [
        ([], False),
        (["", "  "], False),
        (["{", "}"], True),
        (['{"a": "', '}"', "}"], True),
        (['{"a": "\\', '"}'], False),
        (['{"a": "\\', '"}', '"}'], True),
        (['{"a": "\\\\"', "}"], True),
        (["[1, [2]", "]"], True),
        (['{"a": {"b": 1}'], False),
    ],
)
def test_the_end_of_the_json_is_recognised(pieces: list[str], complete: bool) -> None:
    assert read(*pieces) is complete


@given(st.dictionaries(st.text(), JSON), st.lists(st.integers(0, 100), max_size=4))
def test_wherever_the_text_is_cut(value: Any, cuts: list[int]) -> None:
    text = json.dumps(value)
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[one:two] for one, two in pairwise(places)]
    assert read(*pieces)
    assert not read(*pieces[:-1]) or not pieces[-1]


def test_blanks_do_not_tell_two_texts_apart() -> None:
    assert squeezed('{"a": 1}') == squeezed('{\n"a":1 }')
