"""Cursors: what a reader's headers and query say, and which of it is refused."""

from datetime import UTC, datetime

import pytest

from agui_host.errors import BadCursor
from agui_host.protocol.errors import Invalid
from agui_host.protocol.views import legacy
from events.journal import Purged
from events.models import Journal
from runs.access import cursors
from runs.models import Run


@pytest.mark.parametrize(
    ("headers", "query", "cursor"),
    [
        ({}, {}, None),
        ({}, {"after": "7"}, 7),
        ({"last-event-id": " 9 "}, {"after": "7"}, 9),
        ({"last-event-id": "0"}, {}, 0),
    ],
)
def test_the_header_wins_over_the_query(
    headers: dict[str, str], query: dict[str, str], cursor: int | None
) -> None:
    assert cursors.from_request(headers, query) == cursor


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", "١", "1" * 11, "1e3"])
def test_what_is_no_position_is_refused(text: str) -> None:
    for source in (({"last-event-id": text}, {}), ({}, {"after": text})):
        with pytest.raises(BadCursor):
            cursors.from_request(*source)


def test_a_cursor_beyond_the_head_is_refused_and_says_the_head() -> None:
    assert [cursors.check(cursor, 5) for cursor in (None, 0, 5)] == [0, 0, 5]
    with pytest.raises(BadCursor) as refused:
        cursors.check(6, 5)
    assert refused.value.details == {"head": 5}


def test_of_a_purged_run_only_the_end_can_be_read() -> None:
    run = Run(journal=Journal(head=5), purged_at=datetime.now(UTC))
    assert cursors.place(run, 5) == 5
    for cursor in (None, 4):
        with pytest.raises(Purged) as gone:
            cursors.place(run, cursor)
        assert gone.value.details == {"lowest": 6}


def test_raw_is_a_yes_or_a_no() -> None:
    assert [cursors.raw(query) for query in ({}, {"raw": "true"}, {"raw": "false"})] == [
        True, True, False,
    ]  # fmt: skip
    with pytest.raises(Invalid):
        cursors.raw({"raw": "0"})


def test_the_version_is_the_querys_else_what_the_input_declares() -> None:
    assert cursors.protocol({}) is None
    assert cursors.protocol({}, None) == legacy.NEWEST
    assert cursors.protocol({}, "no version") is None
    assert cursors.protocol({"protocol": "1.0"}, None) is None
    old = cursors.protocol({"protocol": "0.0.39"}, "1.0")
    assert old == legacy.version_of("0.0.39") is not None
    with pytest.raises(Invalid):
        cursors.protocol({"protocol": "new"})
