"""Which runs contain all words of a text."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BooleanField, F, Func, Q, QuerySet, UUIDField, Value

from agui_host.backends.postgres import clock
from agui_host.protocol.ids import uuid7_floor
from runs.lifecycle.words import stretches
from runs.lifecycle.words.cut import lexemes, words
from runs.models import Run

REACHED = "runs_wordsreached"
"""The view of ``runs_runwords`` through which a search reads (migration 0020 explains why)."""
MOST_WORDS = 40
"""Words of a search that count: of Chinese each character is one, and 500 took PostgreSQL 1 s."""
ENOUGH = 500
"""The newest matches are looked up until there are so many; then at most three times as many."""
AHEAD = 3600
"""Seconds by which the clock of the host that made a run can be ahead."""
FRESH = 1_000
"""A team's newest runs are also found by parts of names: their words can not be stored yet."""
BEGINNING = 1_000
"""Characters of an error that count there: an agent can write megabytes."""
# "offset 0": with a join PostgreSQL read all threads of the host for those of a thousand runs.
MATCHES = """
select runs, complete, array(
    select fresh.journal_id
      from (select journal_id, thread_id, run_id, error_message from runs_run
             where team_id = %(team)s order by journal_id desc limit %(fresh)s) fresh
     cross join lateral (
        select thread_id, title from runs_thread where id = fresh.thread_id offset 0) thread
     where fresh.journal_id < %(below)s and not exists (
        select from unnest(%(words)s::text[]) word
         where strpos(lower(concat_ws(
            ' ', left(fresh.error_message, %(beginning)s), fresh.run_id, thread.thread_id,
            thread.title)), word) = 0))
  from agui_matches(%(prefix)s, %(query)s::tsquery, %(below)s, %(enough)s, %(top)s)
"""


class Newest(NamedTuple):
    """The ``ids`` of the newest matches; whether these are all; which of them by parts of names."""

    ids: list[UUID]
    complete: bool
    by_names: list[UUID]


def count_words(text: str) -> int:
    """The different words to search for, one more than ``MOST_WORDS`` at most."""
    return len(words([text], MOST_WORDS + 1))


def newest(team: UUID, text: str, below: UUID | None = None) -> Newest:
    """The newest of a team's runs, or of those older than ``below``, that contain every word."""
    parts = words([text], MOST_WORDS)
    if not parts:
        return Newest([], True, [])
    (prefix,) = lexemes(team, [""])
    values: dict[str, Any] = {
        "team": team,
        "fresh": FRESH,
        "beginning": BEGINNING,
        "words": parts,
        "prefix": prefix,
        "query": _query(team, text),
        "below": below or uuid7_floor(clock.seconds() + AHEAD),
        "enough": ENOUGH,
        "top": stretches.LEVELS[-1],
    }
    with connection.cursor() as cursor:
        cursor.execute(MATCHES, values)
        ids, complete, fresh = cursor.fetchone()
    # Of many matches these are the newest: none older than the last of them is included.
    oldest, known = UUID(int=0) if complete else min(ids), set(ids)
    by_names = [each for each in fresh if each > oldest and each not in known]
    return Newest(ids + by_names, complete, by_names)


def among(runs: QuerySet[Run], ids: Sequence[UUID]) -> QuerySet[Run]:
    """Those of the runs that have one of many ids, as one value for the database."""
    return runs.filter(_among(ids))


def containing(
    runs: QuerySet[Run], team: UUID, text: str, matches: Newest | None = None
) -> QuerySet[Run]:
    """Those of a team's runs that contain every word of a text; none for one without any.

    ``matches``: what ``newest`` said, if the caller has asked.
    """
    matches = newest(team, text) if matches is None else matches
    if matches.complete:
        return among(runs, matches.ids) if matches.ids else runs.none()
    contains = Q(_Contains(F("pk"), Value(_query(team, text))))
    if matches.by_names:
        contains |= Q(_among(matches.by_names))
    return runs.filter(contains)


def _among(ids: Sequence[UUID]) -> "_Among":
    return _Among(F("pk"), Value(list(ids), ArrayField(UUIDField())))


def _query(team: UUID, text: str) -> str:
    return " & ".join(map(_quoted, lexemes(team, words([text], MOST_WORDS))))


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
