"""The inbox: a team's open questions, and those of them that the principal may answer."""

from datetime import datetime
from functools import lru_cache

from django.db.models import F, Q, QuerySet

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.compiled import Compiled
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


def waiting(principal: Principal, at: datetime | None = None) -> TeamQuerySet[Interrupt]:
    """The team's open questions that the principal may see and that have not expired, as of now."""
    questions = access.visible_interrupts(principal).filter(status=InterruptStatus.OPEN)
    questions = questions.exclude(expires_at__lte=at or clock.now())
    return each_once(questions)


def answerable(principal: Principal, at: datetime | None = None) -> TeamQuerySet[Interrupt]:
    """Those of ``waiting`` for which ``access.may(principal, "answer", …)`` holds."""
    grants = access.grants_for(principal, "answer").order_by()
    allowed = Q(run__in=grants.filter(run__isnull=False).values("run")) | Q(
        thread__in=grants.filter(thread__isnull=False).values("thread")
    )
    if principal.can("answer"):
        allowed |= access.open_to(principal.actor_id, lambda name: F(f"thread__{name}"))
    return waiting(principal, at).filter(allowed)


def count(principal: Principal) -> int:
    """How many questions the principal may answer now and has not snoozed, at most MOST.

    Each page says it: to build the query took a fifth of a page's processor time.
    """
    access.require(principal, "view")
    now = clock.now()
    if principal.kind == "link":  # its query looks up who is signed in
        return _to_answer(principal, now).count()
    reader = access.Reader.of(principal)
    return len(list(_counted(reader, principal.can("answer")).rows(now)))


@lru_cache(access.READERS)
def _counted(reader: access.Reader, _answers: bool) -> Compiled[Interrupt]:
    return Compiled(lambda at: _to_answer(reader.principal, at), clock.now())


def _to_answer(principal: Principal, at: datetime) -> QuerySet[Interrupt]:
    rows = turns.snoozed(principal, answerable(principal, at), is_so=False, at=at)
    return rows.order_by().select_related(None).defer(None).only("pk")[:MOST]
