"""Cutting texts into words: nothing that is stored is asked for in another way."""

import time
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.lifecycle.words.cut import LONGEST, lexemes, words

TEXTS = st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("… -- _ 💥 \x00", []),
        ("Insufficient FUNDS, insufficient!", ["insufficient", "funds"]),
        ("agent_error order-7 50%", ["agent", "error", "order", "7", "50"]),
        ("https://x.example/a?b=c", ["https", "x", "example", "a", "b", "c"]),
        ("Straße STRASSE", ["strasse"]),
        ("café cafe\u0301 CAFÉ", ["café"]),
        ("ｆｕｌｌ１２", ["full12"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("退款失败 refund", ["退", "款", "失", "败", "refund"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("\ud800half\udfff", ["half"]),
        ("x" * 50 + " " + "x" * 60, ["x" * LONGEST]),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words([text]) == expected


@given(text=TEXTS, before=TEXTS, after=TEXTS)
def test_what_a_text_contains_is_found_in_it(text: str, before: str, after: str) -> None:
    whole = words([before, f"{before} {text} {after}"])
    assert set(words([text])) <= set(whole)
    assert all(0 < len(word) <= LONGEST for word in whole)
    assert len(set(whole)) == len(whole)


@given(text=st.text(alphabet=st.characters(max_codepoint=127)))
def test_letters_of_any_case_are_one_word(text: str) -> None:
    assert words([text]) == words([text.upper()]) == words([text.lower()])


def test_only_so_many_are_taken() -> None:
    texts = (f"word{n} and" for n in range(10_000))
    assert words(texts, 3) == ["word0", "and", "word1"]


def test_a_million_accents_on_one_letter_take_no_time() -> None:
    began = time.monotonic()
    words(["a" + "\u0301\u0323" * 500_000])
    assert time.monotonic() - began < 5


def test_a_team_has_words_of_its_own() -> None:
    teams = [UUID(int=1), UUID(int=2)]
    one, other = (lexemes(team, ["refund", "7"]) for team in teams)
    assert not set(one) & set(other)
    assert [lexeme[8:] for lexeme in one] == ["refund", "7"]
