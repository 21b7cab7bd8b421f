"""Profiles a CSV: rows, columns, types, statistics. Pure: text in, plain dicts out.

A cell is missing if it is blank or the row is too short. A column has the type that all of its
present cells share: integer, number, boolean, date (ISO 8601), else text. Statistics are of the
floats; ``std`` is the sample deviation (n - 1). Cells beyond the header's width are only counted.
"""

import csv
import io
import math
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

DELIMITERS = ",;\t|"
DISTINCT_CAP = 100_000
TOP = 5
TOP_WIDTH = 200
BINS = 10
MOST_COLUMNS = 1_000
LONGEST_NAME = 200
REPORTS = 50
SAFE_INTEGER = 2**53 - 1
INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")  # "007" is a code, not a number
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BOOLEANS = frozenset({"true", "false", "yes", "no"})
SAMPLE_CHARS, SAMPLE_ROWS = 65_536, 50

csv.field_size_limit(2**31 - 1)  # The size of the whole input is limited elsewhere.


def records(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a CSV, header first; quotes, CRLF and line breaks in quotes as in RFC 4180.

    Empty lines are skipped.
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    return (row for row in csv.reader(lines, delimiter=delimiter) if row)


def delimiter_of(text: str) -> str:
    """The delimiter that gives the first rows the most uniform width; by default a comma."""
    sample = text[:SAMPLE_CHARS]
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for _, row in zip(range(SAMPLE_ROWS), records(sample, delimiter))]  # noqa: B905
        if len(text) > SAMPLE_CHARS and len(widths) in range(2, SAMPLE_ROWS):
            widths.pop()  # cut in the middle
        if not widths:
            continue
        width, agreeing = Counter(widths).most_common(1)[0]
        score = (agreeing / len(widths), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def column_names(header: Sequence[str]) -> list[str]:
    """The header's cells, with a name for each nameless column and no name twice."""
    names: dict[str, None] = {}
    counts: dict[str, int] = {}  # The last number tried for each name, so that none is tried twice.
    for number, cell in enumerate(header, 1):
        base = name = cell.strip()[:LONGEST_NAME] or f"column {number}"
        while name in names:
            counts[base] = counts.get(base, 1) + 1
            name = f"{base} ({counts[base]})"
        names[name] = None
    return list(names)


class Column:
    """The running profile of one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.missing = 0
        self._type = ""
        self._numbers = array("d")
        self._seen: Counter[str] = Counter()
        self._capped = False

    def add(self, cell: str) -> None:
        """Count a cell of this column; an empty one is missing."""
        value = cell.strip()
        if not value:
            self.missing += 1
            return
        self.count += 1
        if cell in self._seen or len(self._seen) < DISTINCT_CAP:
            self._seen[cell] += 1
        else:
            self._capped = True
        if self._type != "text":
            self._learn(value)

    def _learn(self, value: str) -> None:
        """Narrow the type: the first cell chooses, a cell of another type makes it text."""
        kind = type_of(value)
        if kind != self._type:
            if {kind, self._type} == {"integer", "number"}:
                kind = "number"
            elif self._type:
                kind = "text"
            self._type = kind
        if kind in ("integer", "number"):
            self._numbers.append(float(value))
        elif kind == "text":
            self._numbers = array("d")

    def profile(self, short: int = 0) -> dict[str, Any]:
        """The column as JSON; ``short``: the number of rows that end before it."""
        kind = self._type or "text"
        members: dict[str, Any] = {
            "name": self.name,
            "type": kind,
            "count": self.count,
            "missing": self.missing + short,
            "distinct": len(self._seen),
            "distinctCapped": self._capped,
        }
        if kind in ("integer", "number"):
            members |= statistics_of(self._numbers, whole=kind == "integer")
        elif self._seen:
            members["top"] = [
                {"value": value[:TOP_WIDTH], "count": count}
                for value, count in self._seen.most_common(TOP)
            ]
            if kind == "date" and not self._capped:
                members |= {"min": min(self._seen), "max": max(self._seen)}
        return members


def type_of(value: str) -> str:
    """The narrowest type of a cell: integer, number, boolean, date or text."""
    if INTEGER.fullmatch(value) and math.isfinite(float(value)):
        return "integer"
    if NUMBER.fullmatch(value) and math.isfinite(float(value)):
        return "number"
    if value.lower() in BOOLEANS:
        return "boolean"
    return "date" if is_date(value) else "text"


def is_date(value: str) -> bool:
    """Whether it is an ISO 8601 date or time stamp, written with its dashes."""
    if len(value) < 10 or value[4] != "-" or value[7] != "-":
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def statistics_of(numbers: Sequence[float], *, whole: bool = False) -> dict[str, Any]:
    """Minimum, maximum, mean, deviation and histogram of finite floats; sums are exact (fsum)."""
    low, high, size = min(numbers), max(numbers), len(numbers)
    mean = (
        math.fsum(number / size for number in numbers)
        if too_large(low, high, size)
        else (math.fsum(numbers) / size)
    )
    statistics: dict[str, Any] = {"min": exact(low, whole), "max": exact(high, whole), "mean": mean}
    if size > 1:
        statistics["std"] = deviation(numbers, mean, max(high - mean, mean - low))
    return statistics | {"histogram": histogram(numbers, low, high)}


def too_large(low: float, high: float, size: int) -> bool:
    """Whether a plain sum could exceed the range of a float."""
    return max(abs(low), abs(high)) > 1e308 / size


def exact(number: float, whole: bool) -> float | int:
    """An integer if JSON and JavaScript keep it exactly."""
    return int(number) if whole and abs(number) <= SAFE_INTEGER else number


def deviation(numbers: Sequence[float], mean: float, widest: float) -> float:
    """The sample standard deviation, scaled so that no square overflows or vanishes."""
    if widest == 0 or not math.isfinite(widest):
        return 0.0 if widest == 0 else math.ldexp(deviation_halved(numbers, mean), 1)
    squares = math.fsum(((number - mean) / widest) ** 2 for number in numbers)
    return widest * math.sqrt(squares / (len(numbers) - 1))


def deviation_halved(numbers: Sequence[float], mean: float) -> float:
    """Half the deviation of numbers whose distance exceeds the range of a float."""
    halves = [number / 2 for number in numbers]
    return deviation(halves, mean / 2, max(max(halves) - mean / 2, mean / 2 - min(halves)))


def histogram(numbers: Iterable[float], low: float, high: float) -> dict[str, Any]:
    """Ten bins of equal width: ``edges`` (11), ``counts`` (10); the last includes its right edge.

    One value gives one bin.
    """
    if low == high:
        return {"edges": [low, high], "counts": [sum(1 for _ in numbers)]}
    inner = [low * (1 - i / BINS) + high * (i / BINS) for i in range(1, BINS)]
    edges = [low, *(min(max(edge, low), high) for edge in inner), high]
    counts = [0] * BINS
    for number in numbers:
        counts[min(bisect_right(edges, number, 1) - 1, BINS - 1)] += 1
    return {"edges": edges, "counts": counts}


class Profile:
    """The running profile of a CSV; ``add`` each row after the header."""

    def __init__(self, header: Sequence[str]) -> None:
        self.columns = [Column(name) for name in column_names(header)]
        self.rows = 0
        self.ragged = 0
        self._widths: Counter[int] = Counter()

    def add(self, row: Sequence[str]) -> None:
        """Count a row; one of another width than the header's is ragged."""
        self.rows += 1
        if len(row) != len(self.columns):
            self.ragged += 1
            # Counted, not filled up: a wide header and rows of one cell would make too much work.
            self._widths[len(row)] += 1
        for column, cell in zip(self.columns, row, strict=False):
            column.add(cell)

    def profiles(self) -> Iterator[dict[str, Any]]:
        """The profile of each column, from left to right."""
        short = 0
        for at, column in enumerate(self.columns):
            short += self._widths[at]
            yield column.profile(short)


def steps(text: str) -> Iterator[dict[str, Any]]:
    """A CSV read from beginning to end, as JSON steps.

    ``{"delimiter", "names"}``, then ``{"rows"}`` now and then, ``{"column"}`` for each, and
    ``{"rows", "ragged"}``. Only ``{"wide"}`` if it has more than MOST_COLUMNS.
    """
    delimiter = delimiter_of(text)
    rows = records(text, delimiter)
    header = next(rows, [])
    if len(header) > MOST_COLUMNS:
        yield {"wide": len(header)}
        return
    profile = Profile(header)
    yield {"delimiter": delimiter, "names": [column.name for column in profile.columns]}
    every = max(1, text.count("\n") // REPORTS)
    for row in rows:
        profile.add(row)
        if profile.rows % every == 0:
            yield {"rows": profile.rows}
    for column in profile.profiles():
        yield {"column": column}
    yield {"rows": profile.rows, "ragged": profile.ragged}
