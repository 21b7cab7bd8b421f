"""The runs of an alert with more filters than usage is kept by: those of a saved view.

The usage has sums by agent, person and hour only. For other filters the newest runs of the window
are read one by one, so many at most.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode
from uuid import UUID

from django.db.models import QuerySet

from agui_host.protocol.errors import Invalid
from agui_host.teams.models import Team
from runs.access.inspect import conditions
from runs.access.inspect.conditions import INDEXED, LENGTH, UNINDEXED
from runs.lifecycle.words import search
from runs.models import Run, Status, Thumb, Visibility

MOST = 10_000
"""The newest runs of a window that are looked at."""
LONGEST = 300
"""Characters of a value."""
OF_THE_LIST = ("columns", "sort", "since", "until", "created_after", "created_before")
"""Members of a view that select no runs of an alert, which has a window."""
CHOICES: Mapping[str, Sequence[str]] = {
    "status": Status.values,
    "thumb": Thumb.values,
    "findings": ("yes", "no"),
}


class Seen(NamedTuple):
    """A run as an alert counts it."""

    status: str
    cost: float
    seconds: float | None


def filters_of(query: str) -> dict[str, list[str]]:
    """The filters of a saved view, by name. Raises Invalid for a filter that makes no sense."""
    filters = {
        name: values if name == "status" else values[-1:]  # the list takes the last one
        for name, values in parse_qs(query).items()
        if name not in OF_THE_LIST
    }
    for name, values in filters.items():
        if not all(_makes_sense(name, value) for value in values):
            raise Invalid(f"An alert cannot have the filter {name} of this view.",
                          details={"path": "view"})  # fmt: skip
    return filters


def runs(team: Team, query: str, since: datetime) -> QuerySet[Run]:
    """The newest runs since then, in threads of the team, that pass the filters of an alert."""
    filters = filters_of(query)
    rows: QuerySet[Run] = Run.objects.for_team(team).filter(
        created_at__gte=since, thread__visibility=Visibility.TEAM
    )
    if statuses := filters.get("status"):
        rows = rows.filter(status__in=statuses)
    if text := filters.get("q"):
        rows = search.among(rows, search.newest(team.pk, text[0]).ids)
    for name, condition in INDEXED.items():
        if values := filters.get(name):
            rows = condition(team, rows, values[0])
    newest = rows.order_by("-created_at", "-pk").values("pk")[:MOST]
    unindexed = [(name, filters[name][0]) for name in UNINDEXED if name in filters]
    few: QuerySet[Run] = Run.objects.for_team(team).filter(pk__in=newest)
    return conditions.passing(few, unindexed)


def read(team: Team, query: str, since: datetime) -> list[Seen]:
    """``runs``, as an alert counts them."""
    rows = runs(team, query, since).values_list("status", "cost", "started_at", "ended_at")
    return [
        Seen(status, float(cost or 0), (ended - started).total_seconds() if ended and started else
             None)
        for status, cost, started, ended in rows
    ]  # fmt: skip


def p95(rows: Sequence[Seen]) -> float | None:
    """How many seconds 95 % of the runs took at most."""
    spans = sorted(row.seconds for row in rows if row.seconds is not None)
    return spans[max(0, -(-len(spans) * 95 // 100) - 1)] if spans else None


def text(filters: Mapping[str, Sequence[str]]) -> str:
    """Filters as an alert stores them."""
    return urlencode(filters, doseq=True)


def _makes_sense(name: str, value: str) -> bool:
    if "\0" in value or len(value) > LONGEST:
        return False
    if name in CHOICES:
        return value in CHOICES[name]
    if name == "took":
        return LENGTH.fullmatch(value) is not None
    if name == "q":
        return 0 < search.count_words(value) <= search.MOST_WORDS
    if name == "issue":
        try:
            return bool(UUID(value))
        except ValueError:
            return False
    return name in INDEXED or name in UNINDEXED
