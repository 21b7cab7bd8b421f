"""Finding citations: whole, in pieces, and in text that is none."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.runtimes.middleware.citing.extract import Reader, citations_in


def citations_of(text: str) -> list[tuple[str, str | None]]:
    return [(citation.quote, citation.source) for citation, _ in citations_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('It says "twelve months" [1].', [("twelve months", "1")]),
        ("It says “twelve\n months”. [^2]", [("twelve months", "2")]),
        ("«a fine» [The lease]", [("a fine", "The lease")]),
        ('<cite source="lease">no pets</cite>', [("no pets", "lease")]),
        ("<cite attachment_id='x' full_phrase='no cats' />", [("no cats", "x")]),
        ("<cite>no dogs</cite>", [("no dogs", None)]),
        ('"one thing" [1] and "another" [2]', [("one thing", "1"), ("another", "2")]),
        ('"not cited" at all [see below', []),
        ("plain [1] markers", []),
        ('"x" [1]', []),
        ("<cite source='a'></cite>", []),
    ],
)
def test_the_forms(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert citations_of(text) == expected


def test_keys_are_the_first_digits_of_a_hash() -> None:
    one, two, three = (
        next(citations_in(text))[0].key
        for text in ('"Twelve  months" [1]', "“twelve months” [1]", '"twelve months" [2]')
    )
    assert re.fullmatch("[0-9a-f]{16}", one)
    assert one == two != three


@given(st.lists(st.integers(1, 9), max_size=40))
def test_however_a_text_is_cut_the_citations_are_the_same(cuts: list[int]) -> None:
    text = 'A “first quote” [1], <cite source="b">second</cite> and "a third" [c]. End.'
    reader, early, at = Reader(1000), [], 0
    for size in [*cuts, len(text)]:
        early += reader.feed(text[at : at + size])
        at += size
    whole = [citation for citation, _ in citations_in(text)]
    assert early == whole
    assert reader.end() == whole


def test_a_citation_is_there_as_soon_as_it_is_complete() -> None:
    reader = Reader(1000)
    assert reader.feed('so "a quote" [1') == []
    assert [citation.quote for citation in reader.feed("] and on")] == ["a quote"]


def test_too_much_text_is_not_kept() -> None:
    reader = Reader(20)
    assert reader.feed('"a quote" [1] ')
    assert not reader.overflown
    assert reader.feed("ü" * 10) == []
    assert reader.overflown
    assert reader.feed('"b quote" [1]') == []
    assert reader.end() == []


@pytest.mark.parametrize("hostile", ['"', "“a", "<cite ", "<cite a=", "[", '"]', "<cite>a"])
def test_hostile_text_takes_no_time(hostile: str) -> None:
    reader, text = Reader(1 << 20), hostile * (200_000 // len(hostile))
    began = time.process_time()
    for at in range(0, len(text), 1000):
        reader.feed(text[at : at + 1000])
    reader.end()
    assert time.process_time() - began < 10
