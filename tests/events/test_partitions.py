"""Months are made ahead, hold what was written in them, and DEFAULT stays empty."""

from datetime import UTC, date, datetime

import pytest
import uuid6
from django.db import connection

from events import journal, partitions
from events.journal import Batch
from tests.events.records import deltas

pytestmark = pytest.mark.django_db(transaction=True)


def partition_of(journal_id: object) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "select tableoid::regclass::text from events_event where journal_id = %s", [journal_id]
        )
        return str(cursor.fetchone()[0])


def test_rows_of_today_sit_in_their_month() -> None:
    claim = journal.take_over(journal.create().pk)
    assert claim
    journal.append([Batch(claim.journal_id, claim.generation, 1, deltas(1))])
    assert partition_of(claim.journal_id) == f"events_event_{datetime.now(UTC):%Y_%m}"
    assert not partitions.stray_rows()


def test_the_next_months_are_made_once() -> None:
    assert partitions.ensure_ahead() == []
    later = date(datetime.now(UTC).year + 2, 11, 30)
    made = partitions.ensure_ahead(later, months=3)
    assert [name[-7:] for name in made] == [
        f"{later.year}_11",
        f"{later.year}_12",
        f"{later.year + 1}_01",
        f"{later.year + 1}_02",
    ]
    assert partitions.ensure_ahead(later, months=3) == []


def test_a_row_without_a_month_is_seen() -> None:
    stray = uuid6.UUID(int=1)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into events_event (journal_id, seq, type, payload) values (%s, 1, 'X', '{}')",
            [str(stray)],
        )
    assert partitions.stray_rows()
