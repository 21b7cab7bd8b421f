"""Which runs contain all words of a text."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import BooleanField, F, Func, Q, QuerySet, Value

from runs.lifecycle.words.cut import lexemes, words
from runs.models import Run

REACHED = "runs_wordsreached"
"""The view of ``runs_runwords`` through which a search reads (migration 0019 tells why)."""


def has_words(text: str) -> bool:
    """Whether there is anything to search for."""
    return bool(words([text], 1))


def containing(runs: QuerySet[Run], team: UUID, texts: Iterable[str]) -> QuerySet[Run]:
    """Those of a team's runs that contain every word of the texts; none for texts without any."""
    query = " & ".join(map(_quoted, lexemes(team, words(texts))))
    return runs.filter(Q(_Contains(F("pk"), Value(query)))) if query else runs.none()


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


class _Contains(Func):
    """Whether the run's words match the query."""

    template = "(%(expressions)s::tsquery))"
    arg_joiner = f" in (select run_id from {REACHED} where words @@ "  # noqa: S608
    output_field = BooleanField()
