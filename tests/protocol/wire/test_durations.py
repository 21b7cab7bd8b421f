"""Durations as Go writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_host.protocol.wire.durations import seconds, text_of


@pytest.mark.parametrize(
    ("text", "value"),
    [("250ms", 0.25), ("1.5s", 1.5), ("2m30s", 150.0), ("1h0m5s", 3605.0), (" 7 ", 7.0)],
)
def test_what_operators_write_is_read(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1s2", "1 s", "1e3"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(text)


@given(st.integers(min_value=1, max_value=10**9))
def test_what_is_written_can_be_read(milliseconds: int) -> None:
    assert seconds(text_of(milliseconds)) == pytest.approx(milliseconds / 1000)


def test_a_clock_that_went_back_gives_no_negative_one() -> None:
    assert text_of(-5) == "0s"
