"""The runs list: filters from the URL, and keyset pages that cost the same at any depth."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import QueryDict

from agui_host.dashboard import filters, histogram, search
from agui_host.dashboard.filters import ListFilter
from agui_host.dashboard.runs_list import columns, sorting
from agui_host.dashboard.runs_list.texts import Containing
from agui_host.protocol.errors import BadRequest
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.api.filters import BY_ID
from runs.lifecycle.words import search as words
from runs.models import ACTIVE, BODIES, Run

PAGE = 50
MOST_NEW = 99
WITHOUT_CONTROL = (
    "agent_version", "issue", "run_id", "tag", "took", "findings", "tool", "model", "thumb",
    "created_after", "created_before",
)  # fmt: skip
HEAVY = (*BODIES, "agent__settings")
"""Columns that can hold megabytes; no row shows them."""


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, newest first. ``older`` and ``newer`` are the neighbours' queries, or None."""

    runs: list[Run]
    older: str | None
    newer: str | None
    newest: str | None
    """The newest run's id, for comparison with later runs; "" without runs; None on other pages."""


@dataclass(frozen=True, slots=True)
class Search:
    """A team's runs that pass the filters of an address; none if a filter makes no sense.

    ``query`` is the address with the tokens of its ``q`` as separate parameters.
    """

    runs: QuerySet[Run]
    query: QueryDict
    problems: list[str]
    words: list[str]
    containing: Containing | None = None
    """For a text that many runs contain."""

    @property
    def newest(self) -> QuerySet[Run]:
        """The runs, or the newest of so many that to count them all would take long."""
        return self.runs if self.containing is None else self.containing.newest()[0]


def matching(principal: Principal, address: QueryDict) -> Search:
    """Read the filters of an address, and the text in its box."""
    query, box = search.expanded(address, principal.label)
    run_filter = ListFilter(query, access.visible(principal).defer(*HEAVY))
    run_filter.principal = principal
    problems = list(box.problems)
    for name, errors in run_filter.errors.items():
        problems += [f"{name}: {error}" for error in errors]
    if problems:
        return Search(run_filter.queryset.none(), query, problems, [])
    text, order = query.get("q", ""), filters.ordering(query)
    runs, matches = run_filter.qs, None
    if text:
        # Words are of the whole thread, which not everybody sees who sees a run of it.
        runs = runs.filter(access.of_seen_threads(principal))
        matches = words.newest(principal.team.pk, text)
        if matches.complete:
            few = words.containing(runs, principal.team.pk, text, matches)
            return Search(filters.passing(few, query), query, [], box.words)
    candidates = ListFilter(query, Run.objects.for_team(principal.team))
    candidates.principal = principal
    runs = filters.narrowed(runs, candidates, query, order)
    if matches is None:
        return Search(runs, query, [], box.words)
    containing = Containing(runs, principal.team, text, matches)
    # Those before some time are no newest ones.
    shortcut = not any(query.get(name) for name in ("until", "created_before"))
    return Search(containing.all, query, [], box.words, containing if shortcut else None)


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
