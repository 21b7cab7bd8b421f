"""Archives for the caller: the parts of one, and a run from one."""

from agui_host.errors import Conflict, Forbidden, NotFound
from agui_host.teams.authentication import Principal
from runs.access import access
from runs.lifecycle.archive import form, imports
from runs.models import ENDED, ImportedRun, Run


def opening(principal: Principal, run: Run) -> bytes:
    """The first line of the archive of a run that the caller may view.

    Raises Conflict while it is active, and NotFound for a caller who may not see its input.
    """
    if run.status not in ENDED:
        raise Conflict("Only a run that has ended has an archive.")
    if not access.sees_thread(principal, run):
        raise NotFound("An archive contains the run's input, which was not shared with you.")
    return form.opening(run)


def restore(principal: Principal, body: bytes) -> Run:
    """A read-only run of the caller's team from an archive.

    Raises Forbidden, LimitReached, and BadArchive; then nothing is stored.
    """
    access.require(principal, "run")
    archive = form.read(body, principal.team.pk)
    if not principal.may_use(archive.about.agent):
        raise Forbidden(f"This key is not for the agent {archive.about.agent}.")
    return imports.store(principal.team, archive, principal)


def imported(run: Run) -> ImportedRun | None:
    """The import that made the run, which the caller may view; None for any other run."""
    return ImportedRun.objects.already_found().filter(run=run).defer("opening").first()
