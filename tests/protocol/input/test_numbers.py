"""Whole numbers from callers: digits within bounds, and never an exception."""

import pytest

from protocol.input.numbers import LONGEST, whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("100", 100)])
def test_digits_are_a_number(text: str, number: int) -> None:
    assert whole(text, 0, 100) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "+1",
        "1.0",
        "1e3",
        " 1",
        "1 ",
        "٣",
        "²",
        "x",
        "101",
        "9" * 5_000,
        "0" * 5_000 + "1",
    ],
    ids=lambda text: text[:8],
)
def test_anything_else_is_none(text: str) -> None:
    assert whole(text, 0, 100) is None


def test_the_bounds_are_both_meant() -> None:
    assert whole("1", 2, 3) is None
    assert whole("2", 2, 3) == 2
    assert whole("9" * LONGEST, 0, 10**LONGEST) == 10**LONGEST - 1
