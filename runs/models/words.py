"""RunWords: the words of a run, by which the list finds it."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from agui_host.teams.models import Team
from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run


class RunWords(TeamOwned):
    """What ``runs/lifecycle/words/storing.py`` has stored of a run, or has yet to.

    ``words`` are lexemes with a prefix of their team, without positions; null before they are
    stored, and after the run was purged. ``due``: 0 if there is nothing to do, 1 if the words are
    those of a run that has not ended, more if they are absent or out of date; each change of their
    sources adds to it. -1: the run could not be read, and is left alone.

    Without foreign keys in the database: a row made for a run locks nothing of it.
    """

    run = models.OneToOneField(
        Run,
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="words",
        db_constraint=False,
    )
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    due = models.IntegerField()
    words = SearchVectorField(null=True)

    class Meta:
        indexes = [
            # Without a list of entries yet to be sorted in, which each search would read.
            GinIndex(fields=["words"], fastupdate=False, name="runwords_words"),
            models.Index(
                fields=["team", "-run"], condition=models.Q(due__gt=0), name="runwords_due"
            ),
        ]

    def __str__(self) -> str:
        return f"words of {self.run_id}"
