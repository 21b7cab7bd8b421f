"""May this principal read or act? Every way to a run asks here, and gets 404 for a stranger's."""

from uuid import UUID

from agui_project.errors import Forbidden, NotFound
from runs.models import Interrupt, Run, Thread
from teams import authentication
from teams.authentication import Principal
from teams.tenancy import TeamQuerySet


def visible(principal: Principal) -> TeamQuerySet[Run]:
    """The runs this principal may see, as a queryset."""
    require(principal, "view")
    return Run.objects.for_team(principal.team).select_related("thread", "agent", "journal")


def find(principal: Principal, run_id: UUID, action: str = "view") -> Run:
    """The run, if the principal may do ``action``. Raises NotFound; Forbidden inside the team."""
    run = visible(principal).filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run.")
    require(principal, action)
    return run


def find_thread(principal: Principal, thread_id: str) -> Thread | None:
    """The team's thread of that name; None for a stranger's, like for one that nobody has."""
    require(principal, "view")
    return Thread.objects.for_team(principal.team).filter(thread_id=thread_id).first()


def visible_interrupts(principal: Principal) -> TeamQuerySet[Interrupt]:
    """The questions this principal may see, as a queryset."""
    require(principal, "view")
    rows = Interrupt.objects.for_team(principal.team)
    return rows.select_related("team", "thread", "run__agent")


def find_interrupt(principal: Principal, key: UUID, action: str = "view") -> Interrupt:
    """The question, if the principal may do ``action``. Raises NotFound; Forbidden in the team."""
    interrupt = visible_interrupts(principal).filter(pk=key).first()
    if interrupt is None:
        raise NotFound("There is no such interrupt.")
    require(principal, action)
    return interrupt


def require(principal: Principal, action: str) -> None:
    """Raises Forbidden unless the principal's role allows ``action``."""
    if not principal.can(action):
        raise Forbidden(f"Your role may not do this: {action}.", details={"action": action})


def still_readable(principal: Principal, run_id: UUID) -> bool:
    """Asked again while a stream is open: credential, membership and the run's team."""
    return (
        authentication.still_valid(principal)
        and principal.can("view")
        and Run.objects.for_team(principal.team).filter(pk=run_id).exists()
    )
