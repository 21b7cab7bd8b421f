"""Which runs contain all words of a text."""

import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BooleanField, F, Func, QuerySet, UUIDField, Value

from protocol.ids import uuid7_floor
from runs.lifecycle.words import stretches
from runs.lifecycle.words.cut import lexemes, words
from runs.models import Run

REACHED = "runs_wordsreached"
"""The view of ``runs_runwords`` through which a search reads (migration 0020 tells why)."""
ENOUGH = 500
"""The newest matches are looked up until there are so many; then at most three times as many."""
AHEAD = 3600
"""Seconds by which the clock of the host that made a run may be ahead."""
MATCHES = "select runs, complete from agui_matches(%s, %s::tsquery, %s, %s, %s)"


class Newest(NamedTuple):
    """The ``ids`` of the newest matches; whether these are all."""

    ids: list[UUID]
    complete: bool


def has_words(text: str) -> bool:
    """Whether there is anything to search for."""
    return bool(words([text], 1))


def newest(team: UUID, text: str, below: UUID | None = None) -> Newest:
    """The newest of a team's runs, or of those older than ``below``, that contain every word."""
    query = _query(team, text)
    if not query:
        return Newest([], True)
    (prefix,) = lexemes(team, [""])
    start = below or uuid7_floor(time.time() + AHEAD)
    with connection.cursor() as cursor:
        cursor.execute(MATCHES, [prefix, query, start, ENOUGH, stretches.LEVELS[-1]])
        return Newest(*cursor.fetchone())


def among(runs: QuerySet[Run], ids: Sequence[UUID]) -> QuerySet[Run]:
    """Those of the runs that have one of many ids, as one value for the database."""
    return runs.filter(_Among(F("pk"), Value(list(ids), ArrayField(UUIDField()))))


def containing(
    runs: QuerySet[Run], team: UUID, text: str, matches: Newest | None = None
) -> QuerySet[Run]:
    """Those of a team's runs that contain every word of a text; none for one without any.

    ``matches``: what ``newest`` said, if the caller has asked.
    """
    matches = newest(team, text) if matches is None else matches
    if matches.complete:
        return among(runs, matches.ids) if matches.ids else runs.none()
    return runs.filter(_Contains(F("pk"), Value(_query(team, text))))


def _query(team: UUID, text: str) -> str:
    return " & ".join(map(_quoted, lexemes(team, words([text]))))


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


class _Among(Func):
    """Whether the id is one of an array."""

    template = "(%(expressions)s))"
    arg_joiner = " = any ("
    output_field = BooleanField()


class _Contains(Func):
    """Whether the run's words match the query."""

    template = "(%(expressions)s::tsquery))"
    arg_joiner = f" in (select run_id from {REACHED} where words @@ "  # noqa: S608
    output_field = BooleanField()
