"""The runs of a list by its address: its filters, and the text in its box."""

from dataclasses import dataclass
from functools import partial

from django.db.models import QuerySet
from django.http import QueryDict

from agui_host.teams.authentication import Principal
from runs.access import access
from runs.api.filters import narrowed, passing
from runs.api.listing import box, filters
from runs.api.listing.filters import ListFilter
from runs.api.listing.texts import Containing
from runs.lifecycle.words import search as words
from runs.models import BODIES, Run

HEAVY = (*BODIES, "agent__settings")
"""Columns that can hold megabytes; no row shows them."""


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
    query, typed = box.expanded(address, principal.label)
    run_filter = ListFilter(query, access.visible(principal).defer(*HEAVY))
    run_filter.principal = principal
    problems = list(typed.problems)
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
            return Search(passing(few, query), query, [], typed.words)
    runs = narrowed(runs, partial(_of_team, principal, query), query, order)
    if matches is None:
        return Search(runs, query, [], typed.words)
    containing = Containing(runs, principal.team, text, matches)
    # Those before some time are no newest ones.
    shortcut = not any(query.get(name) for name in ("until", "created_before"))
    return Search(containing.all, query, [], typed.words, containing if shortcut else None)


def _of_team(principal: Principal, query: QueryDict) -> QuerySet[Run]:
    candidates = ListFilter(query, Run.objects.for_team(principal.team))
    candidates.principal = principal
    runs: QuerySet[Run] = candidates.qs
    return runs
