"""After a revocation open streams re-check access, and this process reads keys again."""

from functools import partial
from itertools import count as counter
from uuid import UUID

from django.db import transaction

from agui_host.backends import bell

_counter = counter(1)
_count = 0


def group(team_id: UUID) -> str:
    """The bell's group that the open streams of a team listen to."""
    return f"access.{team_id}"


def revoked(team_id: UUID) -> None:
    """Make every open stream of the team, and this process, re-check access at once.

    Call it in the transaction that revokes, or after it: it notifies after the commit, and again if
    that fails. If both fail, the streams check with their heartbeat.
    """
    transaction.on_commit(_counted)
    transaction.on_commit(partial(_ring, group(team_id)))


def _ring(topic: str) -> None:
    for _ in range(2):
        if bell.ring_now([(topic, {"type": "access", "topic": topic})]):
            return


def count() -> int:
    """A number that changes with every revocation committed by this process."""
    return _count


def _counted() -> None:
    global _count
    _count = next(_counter)
