"""The filters of the runs list: those of the API, times in words, and filters without an index."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import django_filters
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from agui_host.dashboard import search
from agui_host.teams.api.datetimes import MomentField
from events.models import Finding
from runs.api.filters import BY_ID, BY_TIME, RunFilter
from runs.models import Run, Thread, ToolCall

DEPTH = 10_000
"""Filters without an index look at so many of the newest runs that pass the others."""
UNINDEXED = ("tag", "took", "findings", "tool", "model")
LENGTH = re.compile(r"([<>])(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h)")
LONGEST_NAME = 200
"""Of a tool or model."""
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
TIMES_IN_WORDS = (
    ("1h", "The last hour"),
    ("24h", "The last 24 hours"),
    ("today", "Today"),
    ("yesterday", "Since yesterday"),
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
    """A filter by a time, whose field also reads words such as ``yesterday``."""

    field_class = WordyMomentField


def check_length(value: str) -> None:
    """Raises ValidationError unless the text is a length such as ``>10s``."""
    if not LENGTH.fullmatch(value):
        raise ValidationError("Write >10s, <500ms or >5m.")


class ListFilter(RunFilter):
    """``since`` and ``until`` are ``created_after`` and ``created_before`` for people."""

    since = WordyMomentFilter(field_name="created_at", lookup_expr="gte")
    until = WordyMomentFilter(field_name="created_at", lookup_expr="lt")
    tag = django_filters.CharFilter(method="pass_on", max_length=60)
    took = django_filters.CharFilter(method="pass_on", validators=[check_length])
    findings = django_filters.ChoiceFilter(
        method="pass_on", choices=[("yes", "With findings"), ("no", "Without findings")]
    )

    tool = django_filters.CharFilter(method="pass_on", max_length=LONGEST_NAME)
    model = django_filters.CharFilter(method="pass_on", max_length=LONGEST_NAME)

    class Meta(RunFilter.Meta):
        pass


NAMES = tuple(ListFilter.base_filters)


def ordering(query: Any) -> tuple[str, ...]:
    """The order of the list, newest first, which an index has for these filters."""
    return BY_TIME if any(query.get(name) for name in TIMES) else BY_ID


def narrowed(
    runs: QuerySet[Run],
    candidates: ListFilter,
    query: Mapping[str, Any],
    order: tuple[str, ...],
) -> QuerySet[Run]:
    """Those of the newest runs that pass the filters that no index has.

    ``candidates``: the same filters, for all runs of the team; only how many there are counts.
    """
    if not any(query.get(name) for name in UNINDEXED):
        return runs
    # The oldest run to look at is read first: the planner would search them all.
    column = order[0].removeprefix("-")
    ordered = candidates.qs.order_by(*order).values_list(column, flat=True)
    oldest = ordered[DEPTH - 1 : DEPTH].first()
    newest = runs if oldest is None else runs.filter(**{f"{column}__gte": oldest})
    return passing(newest, query)


def passing(runs: QuerySet[Run], query: Mapping[str, Any]) -> QuerySet[Run]:
    """Those of a few runs that pass the filters that no index has."""
    conditions = [_condition(name, query[name]) for name in UNINDEXED if query.get(name)]
    return runs.alias(**_beside()).filter(*conditions) if conditions else runs


def _beside() -> dict[str, Subquery]:
    """The texts of a run's thread, its findings and the names of its tools.

    Subqueries, which are answered for each run that is looked at; for a join, PostgreSQL read all
    threads or findings.
    """
    thread = Thread.objects.filter(pk=OuterRef("thread_id"))
    own = Finding.objects.filter(journal=OuterRef("pk")).order_by()
    return {
        "thread_tags": Subquery(thread.values("tags")),
        "first_finding": Subquery(own.values("pk")[:1]),
        "tools": ArraySubquery(ToolCall.objects.filter(run=OuterRef("pk")).values("name")),
    }


def _condition(name: str, value: str) -> Q:
    if name == "tag":
        return Q(thread_tags__contains=[value])
    if name == "tool":
        return Q(tools__contains=[value])
    if name == "model":
        return Q(by_model__contains=[{"model": value}])
    if name == "findings":
        return Q(first_finding__isnull=value == "no")
    length = LENGTH.fullmatch(value)
    assert length is not None  # noqa: S101  the filter has checked it
    ended = F("started_at") + timedelta(seconds=float(length[2]) * UNITS[length[3]])
    return Q(ended_at__gt=ended) if length[1] == ">" else Q(ended_at__lt=ended)
