"""Tells open streams to re-check access after a revocation."""

from functools import partial
from uuid import UUID

from django.db import transaction

from backends import bell


def group(team_id: UUID) -> str:
    """The bell's group that the open streams of a team listen to."""
    return f"access.{team_id}"


def revoked(team_id: UUID) -> None:
    """Make every open stream of the team re-check access at once.

    Call it in the transaction that revokes, or after it: it rings after the commit. Ringing may
    fail; then the streams check with their heartbeat.
    """
    topic = group(team_id)
    ring = partial(bell.ring_now, [(topic, {"type": "access", "topic": topic})])
    transaction.on_commit(ring)
