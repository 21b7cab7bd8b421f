"""The runs of a list that contain a text: the newest at once, all of them where that is needed."""

from functools import cached_property
from uuid import UUID

from django.db.models import QuerySet

from agui_host.protocol.ids import uuid7_seconds
from agui_host.teams.models import Team
from runs.lifecycle.words import search
from runs.lifecycle.words.storing import LATEST
from runs.models import Run


class Containing:
    """Those of the ``others`` that contain every word of a text; ``others`` pass all else."""

    def __init__(self, others: QuerySet[Run], team: Team, text: str, first: search.Newest) -> None:
        """``first``: what ``search.newest`` said of the text."""
        self._others, self._team, self._text, self._first = others, team, text, first

    def newest(self, below: UUID | None = None) -> tuple[QuerySet[Run], bool]:
        """The newest runs, of those older than ``below``; whether these are all."""
        first = self._first
        if below is not None:
            first = search.newest(self._team.pk, self._text, below)
        return search.among(self._others, first.ids), first.complete

    def reaches(self, run: Run) -> bool:
        """Whether no run that was requested later is missing among the newest.

        They are the newest by their ids, which are made some time before the request is stored; an
        imported run was requested long before.
        """
        return run.created_at.timestamp() > uuid7_seconds(min(self._first.ids)) + LATEST

    @cached_property
    def all(self) -> QuerySet[Run]:
        """All of them, which can take long to find."""
        return search.containing(self._others, self._team.pk, self._text, self._first)
