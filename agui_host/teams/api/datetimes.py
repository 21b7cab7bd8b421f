"""Times in the filters of lists."""

import re
from datetime import UTC, datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django_filters.fields import IsoDateTimeField

_LOST_PLUS = re.compile(r"(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?) (\d\d:?\d\d)")


class MomentField(IsoDateTimeField):  # type: ignore[misc]
    """ISO 8601, passed to the database in UTC: it refuses offsets that Python accepts."""

    default_error_messages = {
        "invalid": "This is not a time in ISO 8601, such as 2026-11-22T10:30:00Z."
    }

    def clean(self, value: Any) -> datetime | None:
        """Raises ValidationError for a time that UTC cannot express."""
        if isinstance(value, str):
            # A "+" that was not escaped in an address arrives as a space.
            value = _LOST_PLUS.sub(r"\1+\2", value)
        moment: datetime | None = super().clean(value)
        try:
            return None if moment is None else moment.astimezone(UTC)
        except OverflowError:
            raise ValidationError("This is not a valid time.") from None


class MomentFilter(django_filters.IsoDateTimeFilter):  # type: ignore[misc]
    """A filter by time."""

    field_class = MomentField
