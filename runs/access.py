"""May this principal read or act? Every way to a run asks here, and gets 404 for a stranger's."""

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from agui_project.errors import Forbidden, NotFound
from runs.models import Interrupt, Run, Thread
from teams import authentication
from teams.authentication import Principal
from teams.tenancy import TeamQuerySet


def visible(principal: Principal) -> TeamQuerySet[Run]:
    """The runs this principal may see, as a queryset."""
    require(principal, "view")
    rows = Run.objects.for_team(principal.team).select_related("thread", "agent", "journal")
    if principal.agents is None:
        return rows
    return rows.exclude(Exists(_foreign(principal, thread=OuterRef("thread"))))


def visible_threads(principal: Principal) -> TeamQuerySet[Thread]:
    """The threads this principal may see, as a queryset.

    A credential for some agents sees those in which nobody else has answered: whoever reads a
    run of a thread may get all that was said in it.
    """
    require(principal, "view")
    rows = Thread.objects.for_team(principal.team)
    if principal.agents is None:
        return rows
    return rows.exclude(Exists(_foreign(principal, thread=OuterRef("pk"))))


def visible_interrupts(principal: Principal) -> TeamQuerySet[Interrupt]:
    """The questions this principal may see, as a queryset."""
    require(principal, "view")
    rows = Interrupt.objects.for_team(principal.team)
    rows = rows.select_related("team", "thread", "run__agent")
    if principal.agents is None:
        return rows
    return rows.exclude(Exists(_foreign(principal, thread=OuterRef("thread"))))


def _foreign(principal: Principal, **thread: Any) -> QuerySet[Run]:
    """Runs of a thread by agents that the credential is not for."""
    return Run.objects.filter(**thread).exclude(agent__slug__in=principal.agents or ())


def find(principal: Principal, run_id: UUID, action: str = "view") -> Run:
    """The run, if the principal may do ``action``. Raises NotFound; Forbidden inside the team."""
    run = visible(principal).filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run.")
    require_for(principal, action, run)
    return run


def find_thread(principal: Principal, thread_id: str) -> Thread | None:
    """The team's thread of that name; None for a stranger's, like for one that nobody has."""
    return visible_threads(principal).filter(thread_id=thread_id).first()


def require_thread(principal: Principal, thread_id: str) -> None:
    """Raises Forbidden for a name that a thread has which this principal may not see."""
    taken = Thread.objects.for_team(principal.team).filter(thread_id=thread_id).exists()
    if taken and find_thread(principal, thread_id) is None:
        raise Forbidden("You may not see all of this thread, so you cannot go on with it.")


def find_interrupt(principal: Principal, key: UUID, action: str = "view") -> Interrupt:
    """The question, if the principal may do ``action``. Raises NotFound; Forbidden in the team."""
    interrupt = visible_interrupts(principal).filter(pk=key).first()
    if interrupt is None:
        raise NotFound("There is no such interrupt.")
    require(principal, action)
    return interrupt


def require(principal: Principal, action: str) -> None:
    """Raises Forbidden unless role and credential allow ``action``."""
    principal.require(action)


def require_for(principal: Principal, action: str, run: Run) -> None:
    """``require`` for something done to a run: to cancel somebody else's takes more."""
    require(principal, action)
    if action == "cancel" and run.started_by != principal.label:
        require(principal, "cancel_others")


def may(principal: Principal, action: str, run: Run) -> bool:
    """Whether ``require_for`` would pass: what a page shows as possible."""
    try:
        require_for(principal, action, run)
    except Forbidden:
        return False
    return True


def still_readable(principal: Principal, run_id: UUID) -> bool:
    """Asked again while a stream is open: the credential as it stands now, and the run."""
    now = authentication.refreshed(principal)
    return now is not None and now.can("view") and visible(now).filter(pk=run_id).exists()
