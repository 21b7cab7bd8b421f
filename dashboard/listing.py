"""The runs list: filters from the URL, and keyset pages that cost the same at any depth."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.http import QueryDict

from protocol.errors import BadRequest
from runs.access import access
from runs.api.filters import RunFilter
from runs.models import ACTIVE, Run
from teams.authentication import Principal

PAGE = 50
MOST_NEW = 99
FILTERS = ("status", "agent", "thread_id", "started_by")
# An input or result may be megabytes, and no row shows one.
HEAVY = ("input", "result", "usage", "error_message", "agent__settings")


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first. ``older`` and ``newer`` are the neighbours' queries, or None."""

    runs: list[Run]
    older: str | None
    newer: str | None
    newest: str | None
    """The newest run's id, for comparison with later runs; "" without runs; None on other pages."""


def matching(principal: Principal, query: QueryDict) -> tuple[QuerySet[Run], RunFilter]:
    """The team's runs that pass the filters of ``query``; none if a filter is invalid."""
    run_filter = RunFilter(query, access.visible(principal).defer(*HEAVY))
    return (run_filter.qs if run_filter.is_valid() else run_filter.queryset.none()), run_filter


def filters_of(query: QueryDict) -> QueryDict:
    """The filters of a URL, without the position in the list."""
    filters = QueryDict(mutable=True)
    for name in FILTERS:
        if values := [value for value in query.getlist(name) if value]:
            filters.setlist(name, values)
    return filters


def page(runs: QuerySet[Run], query: QueryDict) -> Page:
    """The page that ``?before=`` or ``?after=`` names: a run's id, exclusive. Raises BadRequest."""
    before, after = _id("before", query.get("before")), _id("after", query.get("after"))
    if after is not None:
        rows = list(runs.filter(pk__gt=after).order_by("journal_id")[: PAGE + 1])
        more, shown_runs = len(rows) > PAGE, rows[:PAGE][::-1]
        has_older, has_newer = True, more
    else:
        older = runs if before is None else runs.filter(pk__lt=before)
        rows = list(older.order_by("-journal_id")[: PAGE + 1])
        shown_runs = rows[:PAGE]
        has_older, has_newer = len(rows) > PAGE, before is not None
    first = before is None and not has_newer
    filters = filters_of(query)
    return Page(
        shown_runs,
        _beside(filters, "before", shown_runs[-1]) if shown_runs and has_older else None,
        _beside(filters, "after", shown_runs[0]) if shown_runs and has_newer else None,
        (str(shown_runs[0].pk) if shown_runs else "") if first else None,
    )


def count_newer(runs: QuerySet[Run], newest: str) -> int:
    """How many runs are newer than ``newest`` (all of them, if that is empty), at most MOST_NEW."""
    known = _id("newest", newest)
    later = runs.filter(pk__gt=known) if known else runs
    return later.order_by()[:MOST_NEW].count()


def stamp(run: Run) -> str:
    """A run and everything that may change in its row: what an open page says it shows."""
    return f"{run.pk}.{run.status}.{run.journal.head}"


def outdated(principal: Principal, stamps: list[str]) -> list[Run]:
    """The runs that an open page shows as active and that have changed."""
    known_stamps = set(stamps[:PAGE])
    ids = [_id("active", value.partition(".")[0]) for value in known_stamps]
    if not ids:
        return []
    rows = access.visible(principal).defer(*HEAVY).filter(pk__in=ids)
    return [run for run in rows if stamp(run) not in known_stamps]


def is_active(run: Run) -> bool:
    return run.status in ACTIVE


def _beside(filters: QueryDict, name: str, run: Run) -> str:
    query = filters.copy()
    query[name] = str(run.pk)
    return query.urlencode()


def _id(name: str, value: str | None) -> UUID | None:
    if not value:
        return None
    try:
        return UUID(value)
    except ValueError:
        raise BadRequest(f"{name} is not the id of a run.", details={"path": name}) from None
