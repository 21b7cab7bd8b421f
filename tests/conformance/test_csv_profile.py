"""Random CSVs through the stock client: its state equals what the test computes itself.

CSV_SEED tries others.
"""

import base64
import csv
import io
import math
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.conformance.conftest import Play, types, user

WORDS = [
    "naïve",
    "Zürich",
    "東京",
    "🦊 fox",
    'say "hi"',
    "a, b; c",
    "two\r\nlines",
    "Ω≈ç",
    "O'Neil",
    "\t",
]
Cells = dict[str, list[str]]


def random_cells(rng: random.Random, rows: int) -> Cells:
    """Columns by name; a cell is the text that goes into the file."""
    empty = rng.uniform(0.05, 0.4)

    def day() -> str:
        return f"20{rng.randint(10, 40)}-0{rng.randint(1, 9)}-{rng.randint(10, 28)}"

    def column(make: Callable[[], str], gaps: float = empty) -> list[str]:
        return [rng.choice(["", " "]) if rng.random() < gaps else make() for _ in range(rows)]

    return {
        "count, total": column(lambda: str(rng.randint(-(10**12), 10**12))),
        'price "net"': column(lambda: f"{rng.gauss(0, 1000):.{rng.randint(1, 9)}f}"),
        "city": column(lambda: " ".join(rng.choices(WORDS, k=rng.randint(1, 3))).strip() or "x"),
        "paid": column(lambda: rng.choice(["yes", "no", "true", "FALSE"])),
        "größe": column(lambda: f"{rng.uniform(-9, 9):.3f}e{rng.randint(-20, 20)}", 0.0),
        "day": column(day),
        "code": column(lambda: rng.choice(["7", "007", "1e5", "x-1"])),
    }  # fmt: skip


KINDS = ["integer", "number", "text", "boolean", "number", "date", "text"]


def written(cells: Cells, rng: random.Random, *, delimiter: str, newline: str) -> str:
    """The columns as a CSV file."""
    file = io.StringIO(newline="")
    writer = csv.writer(
        file,
        delimiter=delimiter,
        lineterminator=newline,
        quoting=csv.QUOTE_ALL if rng.random() < 0.5 else csv.QUOTE_MINIMAL,
    )
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return file.getvalue()


def as_text(text: str) -> dict[str, Any]:
    return {"runs": [{"messages": [user(text)]}]}


def as_document(text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    source = {"type": "data", "value": data, "mimeType": "text/csv"}
    content = [{"type": "text", "text": "Profile this."}, {"type": "document", "source": source}]
    return {"runs": [{"messages": [{"id": "u1", "role": "user", "content": content}]}]}


def as_state(text: str) -> dict[str, Any]:
    return {"runs": [{"messages": [user("Profile the table.")]}], "state": {"csv": text}}


@pytest.mark.parametrize(
    ("rows", "columns", "send", "delimiter", "newline"),
    [
        (40, 7, as_text, ",", "\r\n"),
        (3_000, 7, as_state, ";", "\n"),
        # With more columns, base64 would take it past the 5 MB that a request may have.
        (50_000, 4, as_document, ",", "\r\n"),
    ],
    ids=["40 rows", "3000 rows", "50000 rows"],
)
def test_the_client_sees_the_numbers_of_a_random_csv(
    play: Play,
    rows: int,
    columns: int,
    send: Callable[[str], dict[str, Any]],
    delimiter: str,
    newline: str,
) -> None:
    seed = int(os.environ.get("CSV_SEED") or rows)
    rng = random.Random(seed)
    cells = dict(list(random_cells(rng, rows).items())[:columns])
    scenario = send(written(cells, rng, delimiter=delimiter, newline=newline))

    report = play(*scenario.pop("runs"), path="/agui/agent/table/run", **scenario)

    (run,) = report["runs"]
    assert report["console"] == []
    assert run["outcome"] == "success"
    assert types(run, "RUN_ERROR", "RUN_FINISHED") == ["RUN_FINISHED"]
    assert types(run)[-1] == "RUN_FINISHED"
    tenth = [at for at, kind in enumerate(run["types"]) if kind == "STATE_DELTA"][9]
    if rows == 50_000:
        # It had reached the client before the agent was done.
        assert run["arrived"][tenth] < run["stamps"][-1]
    profile = report["state"]["profile"]
    assert (profile["done"], profile["rows"], profile["raggedRows"]) == (True, rows, 0)
    assert profile["delimiter"] == delimiter
    for column, name, kind in zip(profile["columns"], cells, KINDS[:columns], strict=True):
        assert (column["name"], column["type"]) == (name, kind)
        check_column(column, cells[name])


def check_column(column: dict[str, Any], cells: list[str]) -> None:
    """Every number of a column's profile, against the cells it was made from."""
    present = [cell for cell in cells if cell.strip()]
    assert column["count"] == len(present)
    assert column["missing"] == len(cells) - len(present)
    assert column["distinct"] == len(set(present))
    assert not column["distinctCapped"]
    if column["type"] not in ("integer", "number"):
        most = Counter(present).most_common(5)
        assert [entry["count"] for entry in column["top"]] == [count for _, count in most]
        return
    numbers = [float(cell) for cell in present]
    assert (column["min"], column["max"]) == (min(numbers), max(numbers))
    # A sum of numbers of both signs is exact to the size of its terms, not of itself.
    near = max(map(abs, numbers)) * 1e-12
    assert math.isclose(column["mean"], statistics.fmean(numbers), rel_tol=1e-9, abs_tol=near)
    assert math.isclose(column["std"], statistics.stdev(numbers), rel_tol=1e-9)
    check_histogram(column["histogram"], numbers)


def check_histogram(column: dict[str, Any], numbers: list[float]) -> None:
    """Ten equal bins from the least to the greatest number, the last one closed."""
    low, high = min(numbers), max(numbers)
    equal = [low + (high - low) * at / 10 for at in range(11)]
    assert column["edges"] == pytest.approx(equal, abs=(high - low) * 1e-12)
    bins = list(pairwise(column["edges"]))
    inside = [sum(left <= number < right for number in numbers) for left, right in bins]
    inside[-1] += numbers.count(high)
    assert column["counts"] == inside
