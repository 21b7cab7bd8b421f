"""The filters of the runs list: those of the API, and some that people type."""

from datetime import datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError

from agui_host.teams.api.datetimes import MomentField
from runs.access.inspect.conditions import LENGTH
from runs.api.filters import BY_ID, BY_TIME, RunFilter
from runs.api.listing import box

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
        moment = box.moment(value) if isinstance(value, str) else None
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

    class Meta(RunFilter.Meta):
        pass


NAMES = tuple(ListFilter.base_filters)


def ordering(query: Any) -> tuple[str, ...]:
    """The order of the list, newest first, which an index has for these filters."""
    return BY_TIME if any(query.get(name) for name in TIMES) else BY_ID
