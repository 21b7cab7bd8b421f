"""Rows of lists: a value above 4 KB is not read, and the row names it. One object has all of it."""

from typing import Any, TypeVar

from django.db.models import Case, F, Func, IntegerField, QuerySet, When

SHORT = 4_096
"""Bytes of a value that a list shows."""

Rows = TypeVar("Rows", bound=QuerySet[Any])


def short(rows: Rows, *names: str) -> Rows:
    """The rows without these columns; short values and the sizes of all are annotated."""
    sizes = {f"{name}_bytes": _size(name) for name in names}
    values = {f"short_{name}": Case(When(**{f"{name}_bytes__lte": SHORT}, then=F(name)))
              for name in names}  # fmt: skip
    return rows.defer(*names).annotate(**sizes).annotate(**values)


def value(row: Any, name: str) -> Any:
    """The value of a column that ``short`` annotated; None if it is long."""
    return getattr(row, f"short_{name}")


def is_long(row: Any, name: str) -> bool:
    """Whether ``short`` left the column's value out."""
    return (getattr(row, f"{name}_bytes") or 0) > SHORT


def _size(name: str) -> Func:
    return Func(F(name), function="octet_length", output_field=IntegerField())
