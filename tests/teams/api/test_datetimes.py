"""Times in the filters of lists."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError

from agui_host.teams.api.datetimes import MomentField

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22T12:00:00Z",
        "2026-11-22T13:00:00+01:00",
        "2026-11-22T13:00:00 01:00",  # a "+" that was not escaped
        "2026-11-22T13:00 0100",
    ],
)
def test_a_time_is_read_in_utc(text: str) -> None:
    assert MomentField().clean(text) == NOON


@pytest.mark.parametrize("text", ["noon", "2026-13-01T00:00Z", "0001-01-01T00:00:00+23:59"])
def test_no_other_text_is_one(text: str) -> None:
    with pytest.raises(ValidationError, match="not a"):
        MomentField().clean(text)


def test_a_filter_may_be_absent() -> None:
    assert MomentField(required=False).clean("") is None
