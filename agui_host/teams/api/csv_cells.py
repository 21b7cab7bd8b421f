"""Tables as CSV: no cell is a formula for a spreadsheet, whatever a person wrote in it."""

import csv
import io
from collections.abc import Iterable

FORMULA = tuple("=+-@\t\r")


def lines(rows: Iterable[Iterable[object]]) -> str:
    """The rows as lines. A text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    write = csv.writer(out)
    for row in rows:
        write.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text[:1] in FORMULA else text
