"""ImportedRun: marks a run that came from an archive, and was not executed here."""

from django.db import models
from django.db.models.functions import Now

from agui_host.teams.tenancy import TeamOwned
from runs.models.run import Run


class ImportedRun(TeamOwned):
    """A run that was imported, and ``opening``: the first line of its archive, byte by byte.

    The line describes the original run; the next export begins with it again.
    """

    run = models.OneToOneField(
        Run, primary_key=True, on_delete=models.CASCADE, related_name="imported"
    )
    opening = models.TextField()
    imported_by = models.CharField(max_length=200)
    imported_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"import of {self.run_id}"
