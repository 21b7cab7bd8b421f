"""Tables as CSV: no cell is a formula for a spreadsheet, whatever a person wrote in it."""

import csv
import io
from collections.abc import Iterable

from django.http import HttpResponse

FORMULA = tuple("=+-@\t\r")


def lines(rows: Iterable[Iterable[object]]) -> str:
    """The rows as lines. A text that a spreadsheet would take for a formula gets an apostrophe."""
    out = io.StringIO()
    write = csv.writer(out)
    for row in rows:
        write.writerow([_cell(value) for value in row])
    return out.getvalue()


def as_file(name: str, rows: Iterable[Iterable[object]]) -> HttpResponse:
    """The rows as a file of this name, which has no extension."""
    answer = HttpResponse(lines(rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer


def _cell(value: object) -> object:
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text[:1] in FORMULA else text
