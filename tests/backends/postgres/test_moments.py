"""Moments from the database are those that psycopg reads, in a fifth of its time."""

from datetime import UTC, datetime

import pytest
from django.db import DataError, connection
from django.db.backends.postgresql.base import TIMESTAMPTZ_OID
from psycopg.pq import Format

from agui_host.backends.postgres.base import MomentLoader

pytestmark = pytest.mark.django_db

MOMENTS = (
    "2026-11-30 03:02:08+00",
    "2026-11-30 03:02:08.4+00",
    "2026-11-30 03:02:08.123456+00",
    "2026-11-30 08:32:08.123456+05:30",
    "1890-01-01 00:00:00+00:19:32",
    "0001-01-01 00:00:00+00",
)


@pytest.mark.parametrize("text", MOMENTS)
def test_any_precision_and_offset(text: str) -> None:
    with connection.cursor() as cursor:
        loader = cursor.connection.adapters.get_loader(TIMESTAMPTZ_OID, Format.TEXT)
        assert loader is MomentLoader
        cursor.execute("select %s::timestamptz", [text])
        [moment] = cursor.fetchone()
    assert moment == datetime.fromisoformat(text)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize("text", ["infinity", "0044-03-15 00:00:00+00 BC", "12026-01-01 00:00+00"])
def test_one_that_python_cannot_represent_is_refused(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select %s::timestamptz", [text])
        with pytest.raises(DataError):
            cursor.fetchone()
