"""The inbox: a team's open questions, and those of them that the principal may answer."""

from django.db.models import F, Q

from agui_host.backends.postgres import clock
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.access.notices import turns
from runs.models import Interrupt, InterruptStatus

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
        allowed |= access.open_to(principal.actor_id, lambda name: F(f"thread__{name}"))
    return waiting(principal).filter(allowed)


def count(principal: Principal) -> int:
    """How many questions the principal may answer now and has not snoozed, at most MOST."""
    return turns.snoozed(principal, answerable(principal), False).order_by()[:MOST].count()
