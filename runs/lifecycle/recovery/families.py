"""The children of a run that gets another worker: those of agents that continue go with it.

They stay ``running``, fenced and without a worker, until the parent's next attempt starts the same
agent with the same input: then that child continues, in its own log. A child that this attempt does
not ask for is cancelled before the parent ends.
"""

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from agui_host.protocol.intake.intake import Intake
from agui_host.runtimes.models import Agent
from events import journal
from events.journal import Claim
from events.models import Journal
from runs.lifecycle import ending
from runs.lifecycle.recovery import effects, restoring
from runs.models import ACTIVE, Reason, Recovery, Run, Status

READ_AGAIN = (Status.SUCCEEDED, Status.INTERRUPTED)
"""How a child has ended whose log the parent's next attempt gets in place of another run."""


def note_attempt(run: Run, claimed: Claim, reason: Reason, *, counts: bool = True) -> None:
    """Store that a fenced run waits for its next attempt; ``counts`` as of a Recovery."""
    earlier = Recovery.objects.already_found().filter(run=run.pk).count()
    Recovery.objects.create(
        run=run,
        team_id=run.team_id,
        number=earlier + 2,
        seq=claimed.head,
        reason=reason,
        counts=counts,
        # A run that no worker has claimed yet is claimed as any other.
        taken_at=run.created_at if run.status == Status.QUEUED else None,
    )
    effects.mark_unverified(run)


def take_along(parent: Run, reason: Reason) -> None:
    """Let the children wait for the next attempt; fence those that no worker has left yet."""
    for child in _active(parent):
        if not _waits(child):
            if (claimed := journal.take_over(child.pk)) is None:
                continue
            note_attempt(child, claimed, reason)
        take_along(child, reason)


def of_earlier_attempt(
    parent: Run, agent: Agent, digest: str, taken: Collection[UUID]
) -> Run | None:
    """The oldest child of this request that waits or has ended well, without those ``taken``."""
    rows = Run.objects.already_found().filter(
        parent=parent.pk, agent=agent, request_digest=digest, status__in=(*READ_AGAIN, *ACTIVE)
    )
    for child in rows.exclude(pk__in=taken).select_related("agent", "thread").order_by("pk"):
        if child.status in READ_AGAIN or _waits(child):
            return child
    return None


def end_waiting(parent: Run, generation: int | None = None) -> None:
    """Cancel the children that wait for an attempt of ``parent``, which ends without them.

    ``generation``: the parent's attempt, which may have lost the run.
    """
    for child in _active(parent):
        with transaction.atomic():
            if generation is not None:
                ours = Journal.objects.filter(pk=parent.pk, writer=generation)
                if ours.select_for_update(no_key=True).first() is None:
                    return
            if not _waits(child) or (claimed := journal.take_over(child.pk)) is None:
                continue
            end_waiting(child)
            intake: Intake = restoring.intake(child, claimed.head)
            ending.append(child, claimed, intake.cancel(), intake)


def _active(parent: Run) -> list[Run]:
    rows = Run.objects.already_found().filter(parent=parent.pk, status__in=ACTIVE)
    children = rows.select_related("agent", "thread", "team").order_by("pk")
    return [child for child in children if child.agent.continues]


def _waits(run: Run) -> bool:
    newest = Recovery.objects.already_found().filter(run=run.pk).order_by("-number").first()
    return newest is not None and newest.taken_at is None
