"""SavedView: filters and columns of the runs list under a name."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned

LONGEST_NAME = 60
LONGEST_QUERY = 2_000


class SavedView(TeamOwned):
    """The ``query`` of a runs list (``status=failed&agent=billing``) under a name.

    ``shared``: the whole team has it; otherwise only its author. ``creator`` is the ``actor_id``
    behind the label ``created_by``.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    name = models.CharField(max_length=LONGEST_NAME)
    query = models.CharField(max_length=LONGEST_QUERY, blank=True)
    shared = models.BooleanField(default=False)
    created_by = models.CharField(max_length=200)
    creator = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], condition=Q(shared=True), name="view_name_once_per_team"
            ),
            models.UniqueConstraint(
                fields=["team", "creator", "name"],
                condition=Q(shared=False),
                name="view_name_once_per_person",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="view_has_name"),
        ]

    def __str__(self) -> str:
        return self.name
