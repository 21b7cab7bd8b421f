"""DataSet: chosen runs under a name; Trial: these runs again, with another agent or version."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agui_host.backends.postgres import clock
from agui_host.teams.actors import LONGEST
from agui_host.teams.tenancy import TeamOwned


class DataSet(TeamOwned):
    """``creator`` is the ``actor_id`` behind the label ``created_by``."""

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    name = models.CharField(max_length=120)
    created_by = models.CharField(max_length=200)
    creator = models.CharField(max_length=LONGEST)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="data_set_name_once"),
            models.CheckConstraint(condition=~Q(name=""), name="data_set_has_name"),
        ]

    def __str__(self) -> str:
        return self.name


class DataSetRun(TeamOwned):
    """A run in a data set; erasing the run takes it out."""

    data_set = models.ForeignKey(DataSet, on_delete=models.CASCADE, related_name="entries")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["data_set", "run"], name="data_set_run_once")
        ]

    def __str__(self) -> str:
        return str(self.run_id)


class Trial(TeamOwned):
    """The runs of a data set, started again with the agent of this slug.

    ``version`` is that of the agent which they run; "" for the agent as it is now.
    """

    id = models.UUIDField(primary_key=True, default=clock.new_id, editable=False)
    data_set = models.ForeignKey(DataSet, on_delete=models.CASCADE, related_name="trials")
    agent = models.CharField(max_length=64)
    version = models.CharField(max_length=16, blank=True, default="", db_default="")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.agent} on {self.data_set_id}"


class TrialRun(TeamOwned):
    """A run of the data set in a trial: ``again`` is the new run, ``problem`` why there is none.

    With neither, it has not been started yet.
    """

    trial = models.ForeignKey(Trial, on_delete=models.CASCADE, related_name="entries")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="+")
    again = models.ForeignKey("runs.Run", on_delete=models.SET_NULL, null=True, related_name="+")
    problem = models.CharField(max_length=60, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["trial", "run"], name="trial_run_once")]

    def __str__(self) -> str:
        return str(self.run_id)
