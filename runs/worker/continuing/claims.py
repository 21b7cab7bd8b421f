"""The claim of a job's run: a new run, or a run that another worker has begun."""

from datetime import datetime
from uuid import UUID

from agui_host.runtimes.versions.codes import code_of
from runs.lifecycle import lifecycle
from runs.lifecycle.lifecycle import Claimed
from runs.lifecycle.recovery import continuing
from runs.models import Run


def claim(run_id: UUID, at: datetime) -> Claimed | None:
    """As ``lifecycle.claim``, with RUN_STARTED; also of a run that was given to another worker."""
    claimed = lifecycle.claim(run_id, at, begins=True)
    if claimed is not None:
        return claimed
    run = Run.objects.already_found().select_related("agent").filter(pk=run_id).first()
    if run is None or not run.agent.continues:
        return None
    return continuing.claim(run_id, at, code_of(run.agent))
