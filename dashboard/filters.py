"""The filters of the runs list: those of the API, times in words, and text."""

from datetime import datetime
from typing import Any

import django_filters
from django.db.models import Q, QuerySet

from dashboard import search
from runs.api.filters import BY_ID, BY_TIME, RunFilter
from runs.models import Run
from teams.api.datetimes import MomentField

TEXT_DEPTH = 10_000
"""Text is searched for in that many of the newest runs that pass the other filters."""
SEARCHED = ("error_message", "run_id", "thread__thread_id", "thread__title")
TIMES_IN_WORDS = (
    ("1h", "The last hour"),
    ("24h", "The last 24 hours"),
    ("today", "Today (UTC)"),
    ("yesterday", "Since yesterday (UTC)"),
    ("7d", "The last 7 days"),
    ("30d", "The last 30 days"),
)
TIMES = ("since", "until", "created_after", "created_before")


class WordyMomentField(MomentField):
    """ISO 8601, or ``today``, ``yesterday``, ``24h``."""

    default_error_messages = {
        "invalid": "This is not a time: write 2026-11-22, 2026-11-22T10:30Z, today, yesterday "
        "or 24h."
    }

    def clean(self, value: Any) -> datetime | None:
        """Raises ValidationError for other text."""
        moment = search.moment(value) if isinstance(value, str) else None
        return moment or super().clean(value)


class WordyMomentFilter(django_filters.IsoDateTimeFilter):  # type: ignore[misc]
    field_class = WordyMomentField


class ListFilter(RunFilter):
    """``since`` and ``until`` are ``created_after`` and ``created_before`` for people."""

    since = WordyMomentFilter(field_name="created_at", lookup_expr="gte")
    until = WordyMomentFilter(field_name="created_at", lookup_expr="lt")
    q = django_filters.CharFilter(method="pass_on")

    class Meta(RunFilter.Meta):
        pass

    def pass_on(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """Text comes last (``containing``), since it is searched for in what the others leave."""
        return runs


NAMES = tuple(ListFilter.base_filters)


def ordering(query: Any) -> tuple[str, ...]:
    """The order of the list, newest first, which an index has for these filters."""
    return BY_TIME if any(query.get(name) for name in TIMES) else BY_ID


def containing(runs: QuerySet[Run], words: list[str], order: tuple[str, ...]) -> QuerySet[Run]:
    """Those of the newest runs that contain every word, in what their rows and threads say."""
    if not words:
        return runs
    # The oldest run to look at is read first: the planner would search them all for the text.
    column = order[0].removeprefix("-")
    ordered = runs.order_by(*order).values_list(column, flat=True)
    oldest = ordered[TEXT_DEPTH - 1 : TEXT_DEPTH].first()
    matching = runs if oldest is None else runs.filter(**{f"{column}__gte": oldest})
    for word in words:
        matching = matching.filter(
            Q(*((f"{name}__icontains", word) for name in SEARCHED), _connector=Q.OR)
        )
    return matching
