"""The inbox: a team's open questions, and those of them that the principal may answer."""

from datetime import datetime
from functools import lru_cache

from django.db.models import F, Q, QuerySet

from agui_host.backends.postgres import clock
from agui_host.backends.postgres.compiled import Compiled
from agui_host.teams import shapes
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
    """The team's questions that the principal may see and that are open at a moment, or now."""
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

    Every page shows the number, and building the query took a fifth of its processor time.
    """
    access.require(principal, "view")
    now = clock.now()
    if principal.kind == "link":  # its query looks up who is signed in
        return _to_answer(principal, now).count()
    compiled = _counted(shapes.of(principal, principal.can("answer")))
    return len(list(compiled.rows(now, *shapes.values(principal))))


@lru_cache(shapes.SHAPES)
def _counted(shape: shapes.Shape) -> Compiled[Interrupt]:
    nobody = shape.nobody()
    values = (clock.now(), *shapes.values(nobody))
    return Compiled(lambda at, *_: _to_answer(nobody, at), *values)


def _to_answer(principal: Principal, at: datetime) -> QuerySet[Interrupt]:
    rows = turns.snoozed(principal, answerable(principal, at), is_so=False, at=at)
    return rows.order_by().select_related(None).defer(None).only("pk")[:MOST]
