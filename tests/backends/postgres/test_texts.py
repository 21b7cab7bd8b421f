"""Arrays of texts on their way to PostgreSQL: as they are, and by a few calls for each text."""

import sys
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import DataError
from psycopg.adapt import Transformer
from psycopg.types.array import ListDumper

pytestmark = pytest.mark.django_db
MEGABYTE = '{"a": "\\"", "b": [1]}\n' * 50_000
TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    | st.sampled_from(
        ["", "NULL", "null", '"', "\\", '\\"', "{}", ",", " ", "é\u2028\U0001f600", '{"a": "b\\n"}']
    )
)


def stored(texts: list[str | None]) -> list[str | None]:
    """The array as PostgreSQL has read it."""
    with connection.cursor() as cursor:
        cursor.execute("select to_json(%s::text[])", [texts])
        (rows,) = cursor.fetchone()
    return list(rows)


def written(texts: list[Any]) -> bytes:
    """What is sent for the array."""
    connection.ensure_connection()
    return bytes(Transformer(connection.connection).as_literal(texts))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS)
def test_all_texts_arrive_as_they_are(texts: list[str]) -> None:
    assert stored([*texts]) == texts


def test_other_arrays_are_written_as_before() -> None:
    assert stored(["a", None]) == ["a", None]
    with connection.cursor() as cursor:
        cursor.execute("select %s::int[], %s::text[], %s::text[]", [[1, 2], [["a"], ['"']], []])
        assert cursor.fetchone() == ([1, 2], [["a"], ['"']], [])


def test_a_text_with_nul_is_refused() -> None:
    with pytest.raises(DataError):
        written(["a\0b"])


def test_no_text_costs_a_call_for_each_of_its_quotes() -> None:
    """The judge counts calls: psycopg's own dumper makes one for each of 350,000 quotes."""
    texts, calls = [MEGABYTE, MEGABYTE], 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    written(texts)
    sys.setprofile(count)
    try:
        literal = written(texts)
    finally:
        sys.setprofile(None)
    assert calls < 200
    connection.connection.adapters.register_dumper(list, ListDumper)
    try:
        assert len(literal) == len(written(texts))
    finally:
        connection.close()
