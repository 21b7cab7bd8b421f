"""Claims of questions, which colleagues see, and snoozes, which are for one person."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from agui_host.backends.postgres import clock
from agui_host.errors import Conflict
from agui_host.protocol.errors import Invalid
from agui_host.teams.authentication import Principal
from agui_host.teams.tenancy import TeamQuerySet
from runs.access import access
from runs.lifecycle.resume import InterruptAnswered, InterruptExpired
from runs.models import Interrupt, InterruptStatus, Snooze

CLAIM = timedelta(minutes=15)
"""A claim lapses then, so that a question never waits for a person who went home."""
LONGEST = timedelta(days=30)


class InterruptClaimed(Conflict):
    """Someone else is answering this question."""

    code = "interrupt_claimed"


def claim(principal: Principal, key: UUID, claimed: bool) -> Interrupt:
    """Tell colleagues that the principal answers this question, or no longer does.

    It hinders nobody: everyone who may answer still can. Raises NotFound, Forbidden,
    InterruptClaimed, InterruptAnswered, InterruptExpired.
    """
    access.find_interrupt(principal, key, "answer")
    with transaction.atomic():
        row = Interrupt.objects.already_found().select_for_update(of=("self",)).get(pk=key)
        _require_open(row)
        is_mine = row.claimer == principal.actor_id
        if is_claimed(row) and not is_mine:
            raise InterruptClaimed(
                f"{row.claimed_by.partition(':')[2]} is answering this question."
            )
        if claimed or is_mine:
            row.claimer = principal.actor_id if claimed else ""
            row.claimed_by = principal.label if claimed else ""
            row.claimed_at = clock.now() if claimed else None
            row.save(update_fields=["claimer", "claimed_by", "claimed_at"])
    return access.find_interrupt(principal, key)


def is_claimed(row: Interrupt) -> bool:
    """Whether someone is answering it now."""
    return row.claimed_at is not None and row.claimed_at > clock.now() - CLAIM


def claims(rows: TeamQuerySet[Interrupt]) -> TeamQuerySet[Interrupt]:
    """The questions that someone is answering now."""
    return rows.filter(claimed_at__gt=clock.now() - CLAIM)


def snooze(principal: Principal, key: UUID, until: datetime | None) -> Interrupt:
    """Take a question out of the principal's inbox until then; None: put it back.

    Raises NotFound, Forbidden, Invalid, InterruptAnswered, InterruptExpired.
    """
    row = access.find_interrupt(principal, key)
    rows = Snooze.objects.for_team(row.team).filter(interrupt=row, sleeper=principal.actor_id)
    if until is None:
        rows.delete()
        return row
    _require_open(row)
    if not clock.now() < until <= clock.now() + LONGEST:
        raise Invalid(
            f"A question is snoozed until a time within {LONGEST.days} days.",
            details={"path": "until"},
        )
    Snooze.objects.update_or_create(
        team=row.team, interrupt=row, sleeper=principal.actor_id, defaults={"until": until}
    )
    return row


def snoozed(
    principal: Principal,
    rows: TeamQuerySet[Interrupt],
    is_so: bool = True,
    at: datetime | None = None,
) -> TeamQuerySet[Interrupt]:
    """The questions that the principal has snoozed at a moment, or now; or the others."""
    # Of the question's team, which may be another that has shared it.
    present = Snooze.objects.own_or_granted().filter(
        interrupt=OuterRef("pk"), sleeper=principal.actor_id, until__gt=at or clock.now()
    )
    return rows.filter(Exists(present)) if is_so else rows.exclude(Exists(present))


def _require_open(row: Interrupt) -> None:
    if row.late(clock.now()):
        raise InterruptExpired("This question has expired.")
    if row.status != InterruptStatus.OPEN:
        raise InterruptAnswered("This question was already answered.")
