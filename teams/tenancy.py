"""Everything a team owns is reached through ``for_team``; nothing else is scoped by hand."""

from typing import Self, TypeVar

from django.db import models

M = TypeVar("M", bound=models.Model)


class TeamQuerySet(models.QuerySet[M]):
    """A queryset that knows how to stay inside one team."""

    def for_team(self, team: "models.Model") -> Self:
        """Only what ``team`` owns: the single place where tenant scoping is written."""
        return self.filter(team=team)


class TeamOwned(models.Model):
    """An object that belongs to exactly one team, and goes with it."""

    team = models.ForeignKey("teams.Team", on_delete=models.CASCADE, related_name="+")

    objects = TeamQuerySet.as_manager()

    class Meta:
        abstract = True
