"""Whole numbers from callers: digits within bounds, and never an exception."""

import re

import pytest

from agui_host.protocol.input.numbers import LARGEST, LONGEST, whole
from tests.house import repository
from tests.house.repository import ROOT


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
    assert whole(str(LARGEST), 0, LARGEST) == LARGEST


BY_HAND = re.compile(r"\.isdecimal\(|\.isdigit\(|re\.\w+\(r?\"\[(?:1-9\]\[)?0-9\]\S*?\"")
"""A number that is read without ``whole``."""
ROOMS = (
    "agui_host/web/",
    "agui_host/dashboard/",
    "agui_host/teams/",
    "runs/access/",
    "runs/api/",
    "agui_host/dialects/",
    "agui_host/protocol/wire/",
)
OURS = {"agui_host/web/middleware/compression.py": "the length of an answer that the host wrote"}


def by_hand(text: str) -> bool:
    return BY_HAND.search(text) is not None


def test_no_other_reader_of_callers_numbers() -> None:
    readers = {
        path.as_posix()
        for path in repository.files(ROOT)
        if path.suffix == ".py" and path.as_posix().startswith(ROOMS)
        if by_hand((ROOT / path).read_text("utf-8"))
    }
    assert readers == set(OURS), "use agui_host/protocol/input/numbers.py::whole"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("text.isdecimal()", True),
        ("name.isdigit() and int(name)", True),
        ('re.compile(r"[0-9]{1,10}")', True),
        ('re.fullmatch(r"[1-9][0-9]{0,3}", text)', True),
        ('re.compile(r"[A-Za-z0-9_-]{43}")', False),
        ("whole(text, 0, 5)", False),
    ],
)
def test_the_guard_notices_them(text: str, wrong: bool) -> None:
    assert by_hand(text) is wrong
