"""RunLabel: a word that people or programs put on a run."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.teams.tenancy import TeamOwned

LONGEST_LABEL = 40


class RunLabel(TeamOwned):
    """``good`` and ``bad`` exclude each other (``runs/access/evaluation/labels.py``)."""

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=LONGEST_LABEL)
    author = models.CharField(max_length=200, help_text="The label of a person or a key.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="run_label_once"),
            models.CheckConstraint(condition=~Q(name=""), name="run_label_not_empty"),
        ]
        indexes = [
            # the newest runs of a label, for a data set
            models.Index(fields=["team", "name", "-run"], name="run_label_of_team")
        ]

    def __str__(self) -> str:
        return self.name
