"""The profile of a CSV against an independent computation."""

import csv
import io
import random
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.runtimes.builtin import csv_profile
from agui_host.runtimes.builtin.csv_profile import (
    Profile,
    delimiter_of,
    records,
    statistics_of,
    type_of,
)


def profiled(text: str) -> Profile:
    rows = records(text, delimiter_of(text))
    profile = Profile(next(rows, []))
    for row in rows:
        profile.add(row)
    return profile


def columns(text: str) -> dict[str, dict[str, Any]]:
    return {column.name: column.profile() for column in profiled(text).columns}


def written(rows: list[list[Any]], delimiter: str = ",", end: str = "\r\n") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("delimiter", list(",;\t|"))
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_random_table_against_the_statistics_module(delimiter: str, end: str) -> None:
    chance = random.Random(delimiter + end)
    words = ['say "hi"', "a,b;c|d\te", "línea\r\nzwei", "数据", "plain"]
    rows: list[list[Any]] = [
        [
            chance.choice(["", chance.randint(-999, 999)]),
            chance.gauss(1e6, 0.01),
            chance.choice(words),
        ]
        for _ in range(700)
    ]
    profiles = columns("\ufeff" + written([["whole", "real", "words"], *rows], delimiter, end))
    whole = [row[0] for row in rows if row[0] != ""]
    real = [row[1] for row in rows]
    assert [profiles[name]["type"] for name in profiles] == ["integer", "number", "text"]
    assert (profiles["whole"]["count"], profiles["whole"]["missing"]) == (
        len(whole),
        700 - len(whole),
    )
    assert profiles["whole"]["distinct"] == len(set(whole))
    for name, numbers in (("whole", whole), ("real", real)):
        assert profiles[name]["min"] == min(numbers)
        assert profiles[name]["max"] == max(numbers)
        assert profiles[name]["mean"] == pytest.approx(statistics.fmean(numbers), rel=1e-14)
        assert profiles[name]["std"] == pytest.approx(statistics.stdev(numbers), rel=1e-12)
        bins = profiles[name]["histogram"]
        assert (len(bins["edges"]), sum(bins["counts"])) == (11, len(numbers))
        for low, high, count in zip(
            bins["edges"][:-2], bins["edges"][1:-1], bins["counts"], strict=False
        ):
            assert count == sum(low <= number < high for number in numbers)
    cells = [row[2] for row in rows]
    top = {entry["value"]: entry["count"] for entry in profiles["words"]["top"]}
    assert top == {word: cells.count(word) for word in words}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2", "+3", "0"], "integer"),
        (["1", "2.5", ".5", "1e3"], "number"),
        (["1", "x"], "text"),
        (["007", "008"], "text"),
        (["true", "No", "YES"], "boolean"),
        (["true", "1"], "text"),
        (["2024-02-29", "2024-01-01T10:00:00Z"], "date"),
        (["2023-02-29"], "text"),
        (["nan", "inf"], "text"),
        (["1e999"], "text"),
        (["", " "], "text"),
        (["١٢"], "text"),
    ],
)
def test_a_type_is_what_every_present_cell_is(cells: list[str], expected: str) -> None:
    (profile,) = columns(written([["x"], *([cell, ""] for cell in cells)])).values()
    assert profile["type"] == expected


def test_missing_short_and_long_rows() -> None:
    profile = profiled("a,b,\n1,,\n\n2\n3,4,5,6\n")
    assert (profile.rows, profile.ragged) == (3, 2)
    assert [column.name for column in profile.columns] == ["a", "b", "column 3"]
    assert [column["missing"] for column in profile.profiles()] == [0, 2, 2]


def test_names_are_told_apart() -> None:
    assert csv_profile.column_names(["x", "x", "x (2)", ""]) == [
        "x",
        "x (2)",
        "x (2) (2)",
        "column 4",
    ]


def test_distinct_values_are_counted_up_to_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_profile, "DISTINCT_CAP", 3)
    (profile,) = columns(
        "x\n" + "\n".join("abcab"[i % 5] + str(i // 3) for i in range(12))
    ).values()
    assert (profile["distinct"], profile["distinctCapped"], profile["count"]) == (3, True, 12)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_statistics_of_any_floats_are_finite_and_complete(numbers: list[float]) -> None:
    statistics = statistics_of(numbers)
    assert statistics["min"] <= statistics["mean"] <= statistics["max"] or statistics[
        "mean"
    ] == pytest.approx(min(numbers))
    assert sum(statistics["histogram"]["counts"]) == len(numbers)
    assert statistics["histogram"]["edges"] == sorted(statistics["histogram"]["edges"])


def test_a_small_spread_far_from_zero_keeps_its_deviation() -> None:
    numbers = [1e9 + x for x in (4.0, 7.0, 13.0, 16.0)]
    assert statistics_of(numbers)["std"] == pytest.approx(statistics.stdev(numbers), rel=1e-12)


@given(st.text())
def test_any_text_is_profiled(text: str) -> None:
    profile = profiled(text)
    for column in profile.profiles():
        assert column["count"] + column["missing"] == profile.rows


@given(st.integers() | st.floats())
def test_numbers_as_python_writes_them_are_numbers(number: float) -> None:
    finite = abs(number) < 1e300
    assert (type_of(repr(number)) in ("integer", "number")) == finite or abs(number) >= 1e300
