"""The base of a context provider: entries for one run's input, read before its agent starts."""

from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, transaction
from pydantic import BaseModel, ConfigDict, Field

from agui_host.backends.postgres.bridge import db
from agui_host.runtimes.context.person import Person
from agui_host.teams.models import Team

ContextEntry = dict[str, str]
"""``{"description", "value"}``, as AG-UI has it."""


@dataclass(frozen=True, slots=True)
class Query:
    """The run that is about to start: ``user`` is a login ("" for a key), ``question`` its text.

    ``starter`` is the ``actor_id`` of the person or key that started it (``teams.actors``),
    ``person`` the end user for whom a key did.
    """

    team: Team
    user: str
    question: str
    starter: str = ""
    person: Person | None = None


class Options(BaseModel):
    """The options of every provider besides its ``name``; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    required: bool = False
    max_chars: int = Field(default=8_000, ge=1, le=1_000_000)


class Provider:
    """Makes entries; one instance per run. Override ``read``, or ``entries`` without a database."""

    Options: ClassVar[type[Options]] = Options
    of_team: ClassVar[bool] = False
    """Whether a team can use it without the operator: nothing in its options reaches the host."""

    def __init__(self, options: Any) -> None:
        self.options = options

    async def entries(self, query: Query) -> list[ContextEntry]:
        """The entries, best first: if they are too long, the last ones are cut."""
        return await db(self._bounded, query)

    def read(self, query: Query) -> list[ContextEntry]:
        """The entries, from the database."""
        raise NotImplementedError

    def _bounded(self, query: Query) -> list[ContextEntry]:
        # A thread cannot be stopped, so the database has to give up by itself.
        limit = str(int(settings.AGUI_CONTEXT_TIMEOUT * 1000))
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select set_config('statement_timeout', %s, true)", [limit])
            return self.read(query)
