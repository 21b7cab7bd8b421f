"""The runs list: filters from the URL, and keyset pages that cost the same at any depth."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import QueryDict

from agui_host.dashboard import histogram
from agui_host.dashboard.runs_list import columns, sorting
from agui_host.protocol.errors import BadRequest
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.api.filters import BY_ID
from runs.api.listing import filters
from runs.api.listing.search import HEAVY, Search
from runs.models import ACTIVE, Run

PAGE = 50
MOST_NEW = 99
WITHOUT_CONTROL = (
    "agent_version", "issue", "run_id", "tag", "took", "findings", "tool", "model", "thumb",
    "created_after", "created_before",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first. ``older`` and ``newer`` are the neighbours' queries, or None."""

    runs: list[Run]
    older: str | None
    newer: str | None
    newest: str | None
    """The newest run's id, for comparison with later runs; "" without runs; None on other pages."""


def filters_of(query: QueryDict) -> QueryDict:
    """The filters of a URL and its columns, without the position in the list."""
    own = QueryDict(mutable=True)
    for name in filters.NAMES:
        if values := [value for value in query.getlist(name) if value]:
            own.setlist(name, values)
    if chosen := columns.parameter(query):
        own[columns.NAME] = chosen
    if by := sorting.chosen(query):
        own[sorting.NAME] = by
    return own


def without_control(query: QueryDict) -> list[tuple[str, str]]:
    """The filters of a URL without a field in the page's form."""
    return [(name, str(query[name])) for name in WITHOUT_CONTROL if query.get(name)]


def page(principal: Principal, matches: Search) -> Page:
    """The page that ``?before=`` or ``?after=`` names: a run's id, exclusive. Raises BadRequest."""
    query = matches.query
    before, after = key_of("before", query.get("before")), key_of("after", query.get("after"))
    order = filters.ordering(query)
    if by := sorting.chosen(query):
        visible_runs = access.visible(principal).defer(*HEAVY)
        filled = columns.filled(visible_runs, columns.chosen(query))
        top = sorting.rows(filled, matches.newest, order, by, PAGE)
        return Page([access.faced(principal, run) for run in top], None, None, None)
    if after is not None:
        upwards = [name.removeprefix("-") for name in order]
        runs = columns.filled(matches.runs, columns.chosen(query))
        rows = list(_beyond(principal, runs, order, "gt", after).order_by(*upwards)[: PAGE + 1])
        more, visible = len(rows) > PAGE, rows[:PAGE][::-1]
        has_older, has_newer = True, more
    else:
        rows = _older(principal, matches, before)
        visible = rows[:PAGE]
        has_older, has_newer = len(rows) > PAGE, before is not None
    visible = [access.faced(principal, run) for run in visible]
    first = before is None and not has_newer
    own = filters_of(query)
    return Page(
        visible,
        _beside(own, "before", visible[-1]) if visible and has_older else None,
        _beside(own, "after", visible[0]) if visible and has_newer else None,
        (str(visible[0].pk) if visible else "") if first else None,
    )


def histogram_of(matches: Search) -> histogram.Histogram | None:
    """The bars above a list: of all its runs, or of the newest."""
    order, own = filters.ordering(matches.query), filters_of(matches.query)
    return histogram.of(matches.newest, order, own, whole=matches.containing is None)


def _older(principal: Principal, matches: Search, before: UUID | None) -> list[Run]:
    """The runs of a page, and one more if there is another page."""
    order, containing = filters.ordering(matches.query), matches.containing
    if containing is not None and (order == BY_ID or before is None):
        newest, complete = containing.newest(before)
        rows = _below(principal, newest, matches.query, before)
        if complete or (len(rows) > PAGE and (order == BY_ID or containing.reaches(rows[-1]))):
            return rows
    return _below(principal, matches.runs, matches.query, before)


def _below(
    principal: Principal, runs: QuerySet[Run], query: QueryDict, before: UUID | None
) -> list[Run]:
    order, filled = filters.ordering(query), columns.filled(runs, columns.chosen(query))
    older = filled if before is None else _beyond(principal, filled, order, "lt", before)
    return list(older.order_by(*order)[: PAGE + 1])


def _beyond(
    principal: Principal, runs: QuerySet[Run], order: tuple[str, ...], way: str, key: UUID
) -> QuerySet[Run]:
    """The runs on one side of another: ``way`` is ``lt`` or ``gt``."""
    if order == BY_ID:
        return runs.filter(**{f"pk__{way}": key})
    anchor = access.visible(principal).filter(pk=key)
    at = anchor.values_list("created_at", flat=True).first()
    if at is None:
        raise BadRequest("There is no such run to start the page from.")
    # The first condition uses the index; the second settles runs of the same moment.
    same_or_beyond = runs.filter(**{f"created_at__{way}e": at})
    return same_or_beyond.filter(
        Q(**{f"created_at__{way}": at}) | Q(**{"created_at": at, f"pk__{way}": key})
    )


def count_newer(runs: QuerySet[Run], newest: str) -> int:
    """How many runs are newer than ``newest`` (all of them, if that is empty), at most MOST_NEW."""
    known = key_of("newest", newest)
    later = runs.filter(pk__gt=known) if known else runs
    return later.order_by()[:MOST_NEW].count()


def stamp(run: Run) -> str:
    """The version of a run's row that an open page shows: its id and all that can change."""
    return f"{run.pk}.{run.status}.{run.journal.head}"


def outdated(principal: Principal, stamps: list[str], query: QueryDict) -> list[Run]:
    """The runs that an open page, with this query, shows as active and that have changed."""
    known_stamps = set(stamps[:PAGE])
    ids = [key_of("active", value.partition(".")[0]) for value in known_stamps]
    if not ids:
        return []
    rows = access.visible(principal).defer(*HEAVY).filter(pk__in=ids)
    changed = columns.filled(rows, columns.chosen(query))
    return [access.faced(principal, run) for run in changed if stamp(run) not in known_stamps]


def is_active(run: Run) -> bool:
    """Whether the run can still change."""
    return run.status in ACTIVE


def _beside(own: QueryDict, name: str, run: Run) -> str:
    query = own.copy()
    query[name] = str(run.pk)
    return query.urlencode()


def key_of(name: str, value: str | None, noun: str = "a run") -> UUID | None:
    """The id in the query's ``name``; None without one. Raises BadRequest."""
    if not value:
        return None
    try:
        return UUID(value)
    except ValueError:
        message = f"{name} is not the id of {noun}."
        raise BadRequest(message, details={"path": name}) from None
