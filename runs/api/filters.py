"""Filters of the runs list; the queryset keeps each one inside the team."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from agui_host.teams.api.datetimes import MomentFilter
from agui_host.teams.authentication import Principal, principal_of
from runs.access.inspect import conditions
from runs.access.inspect.conditions import UNINDEXED
from runs.lifecycle.words import search
from runs.models import Run, Status, Thumb

BY_ID = ("-journal_id",)
BY_TIME = ("-created_at", "-journal_id")
LONGEST_TEXT = 500
LONGEST_NAME = 200
"""Of a tool or model."""
DEPTH = 10_000
"""Filters without an index look at so many of the newest runs that pass the others."""


def check_text(value: str) -> None:
    """Raises ValidationError for a text that has no word, or more than a search takes."""
    words = search.count_words(value)
    if not words:
        raise ValidationError("The search contains no words; use letters or digits.")
    if words > search.MOST_WORDS:
        raise ValidationError(
            f"The search contains more than {search.MOST_WORDS} words; of Chinese each character"
            " is one."
        )


class RunFilter(django_filters.FilterSet):
    """The query of the list of runs."""

    status = django_filters.MultipleChoiceFilter(choices=Status.choices)
    agent = django_filters.CharFilter(method="filtered")
    agent_version = django_filters.CharFilter(
        method="filtered", max_length=16, help_text="The version of its agent as it started."
    )
    thread_id = django_filters.CharFilter(field_name="thread__thread_id")
    run_id = django_filters.CharFilter()
    started_by = django_filters.CharFilter(method="filtered")
    end_user = django_filters.CharFilter(help_text="`sub` of the person for whom a key started it.")
    error = django_filters.CharFilter(
        field_name="error_code", help_text="The code of a failed run."
    )
    issue = django_filters.UUIDFilter(
        method="filtered", help_text="The id of an issue: its failed runs."
    )
    created_after = MomentFilter(field_name="created_at", lookup_expr="gte")
    created_before = MomentFilter(field_name="created_at", lookup_expr="lt")
    thumb = django_filters.ChoiceFilter(
        choices=Thumb.choices,
        method="filtered",
        help_text="Runs that anybody rated so, or an answer in them.",
    )
    tool = django_filters.CharFilter(
        method="pass_on",
        max_length=LONGEST_NAME,
        help_text="The name of a tool that the run called, among the newest 10,000 runs that pass "
        "the other filters.",
    )
    model = django_filters.CharFilter(
        method="pass_on",
        max_length=LONGEST_NAME,
        help_text="The name of a model that the run used, among as many.",
    )
    q = django_filters.CharFilter(
        method="pass_on",
        max_length=LONGEST_TEXT,
        validators=[check_text],
        help_text="Words that the run contains, all of them.",
    )

    class Meta:
        model = Run
        fields: list[str] = []

    @cached_property
    def principal(self) -> Principal:
        """The caller, whose team's runs they are."""
        return principal_of(self.request)

    def filtered(self, runs: QuerySet[Run], name: str, value: Any) -> QuerySet[Run]:
        """The runs of the caller's team that pass the condition of this name."""
        return conditions.INDEXED[name](self.principal.team, runs, value)

    def pass_on(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """Applied last, to the runs that the others leave."""
        return runs


def narrowed(
    runs: QuerySet[Run],
    candidates: Callable[[], QuerySet[Run]],
    query: Mapping[str, Any],
    order: tuple[str, ...],
) -> QuerySet[Run]:
    """Those of the newest runs that pass the filters that no index has.

    ``candidates`` makes all runs of the team that pass the others; only how many there are counts.
    """
    if not any(query.get(name) for name in UNINDEXED):
        return runs
    # The oldest run to look at is read first: the planner would search them all.
    column = order[0].removeprefix("-")
    ordered = candidates().order_by(*order).values_list(column, flat=True)
    oldest = ordered[DEPTH - 1 : DEPTH].first()
    newest = runs if oldest is None else runs.filter(**{f"{column}__gte": oldest})
    return passing(newest, query)


def passing(runs: QuerySet[Run], query: Mapping[str, Any]) -> QuerySet[Run]:
    """Those of a few runs that pass the filters that no index has."""
    values = [(name, query[name]) for name in UNINDEXED if query.get(name)]
    return conditions.passing(runs, values)
