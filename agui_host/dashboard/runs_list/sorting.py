"""The runs list by duration or cost: among the newest runs that pass the filters.

No index has these orders, as each would cost every start; so many rows are sorted in no time.
"""

from django.db.models import Expression, F, QuerySet
from django.http import QueryDict

from runs.models import Run

NAME = "sort"
MOST = 2_500
"""As many as the bars above the list count."""
ORDERS: dict[str, Expression] = {
    "span": (F("ended_at") - F("started_at")).desc(nulls_last=True),
    "cost": F("cost").desc(nulls_last=True),
}
"""By the name of the column."""


def chosen(query: QueryDict) -> str:
    """The column that the address sorts by; empty for the usual order, newest first."""
    name = query.get(NAME, "")
    return name if name in ORDERS else ""


def rows(
    runs: QuerySet[Run], newest: QuerySet[Run], order: tuple[str, ...], name: str, most: int
) -> list[Run]:
    """The first ``most`` of the newest runs; ``runs`` has the columns that the list shows."""
    by = (ORDERS[name], "-journal_id")
    candidates = newest.order_by(*order).values("pk")[:MOST]
    # Only these are joined with their threads, agents and journals.
    first = Run.objects.already_found().filter(pk__in=candidates).order_by(*by).values("pk")[:most]
    return list(runs.filter(pk__in=first).order_by(*by))
