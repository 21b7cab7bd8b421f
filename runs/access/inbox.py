"""The inbox: a team's open questions, and those of them that the principal may answer."""

from django.db.models import Q

from backends.postgres import clock
from runs.access import access
from runs.models import Interrupt, InterruptStatus, Visibility
from teams.authentication import Principal
from teams.tenancy import TeamQuerySet

MOST = 100
"""A count stops here, so that it costs the same for every team."""


def each_once(questions: TeamQuerySet[Interrupt]) -> TeamQuerySet[Interrupt]:
    """Without a subagent's question while the run that started it asks the same one."""
    return questions.exclude(run__parent__interrupts__status=InterruptStatus.OPEN)


def waiting(principal: Principal) -> TeamQuerySet[Interrupt]:
    """The team's open questions that the principal may see and that have not expired."""
    questions = access.visible_interrupts(principal).filter(status=InterruptStatus.OPEN)
    questions = questions.exclude(expires_at__lte=clock.now())
    return each_once(questions)


def answerable(principal: Principal) -> TeamQuerySet[Interrupt]:
    """Those of ``waiting`` for which ``access.may(principal, "answer", …)`` holds."""
    grants = access.grants_for(principal, "answer").order_by()
    allowed = Q(run__in=grants.filter(run__isnull=False).values("run")) | Q(
        thread__in=grants.filter(thread__isnull=False).values("thread")
    )
    if principal.can("answer"):
        allowed |= Q(thread__visibility=Visibility.TEAM) | Q(thread__creator=principal.actor_id)
    return waiting(principal).filter(allowed)


def count(principal: Principal) -> int:
    """How many questions the principal may answer now, at most MOST."""
    return answerable(principal).order_by()[:MOST].count()
