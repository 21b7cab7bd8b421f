"""Times in the filters of lists."""

from datetime import UTC, datetime
from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django_filters.fields import IsoDateTimeField


class MomentField(IsoDateTimeField):  # type: ignore[misc]
    """ISO 8601, passed to the database in UTC: it refuses offsets that Python accepts."""

    def clean(self, value: Any) -> datetime | None:
        """Raises ValidationError for a time that UTC cannot express."""
        moment: datetime | None = super().clean(value)
        try:
            return None if moment is None else moment.astimezone(UTC)
        except OverflowError:
            raise ValidationError("This is not a valid time.") from None


class MomentFilter(django_filters.IsoDateTimeFilter):  # type: ignore[misc]
    """A filter by time."""

    field_class = MomentField
