"""Findings as rows beside a log: what was wrong with an agent's events."""

from collections.abc import Iterable
from uuid import UUID

from events.models import Finding
from protocol.intake import findings


def store(journal_id: UUID, batch: Iterable[findings.Finding]) -> None:
    """Store findings; runs in the transaction that stores the events they belong to."""
    Finding.objects.bulk_create(
        Finding(journal_id=journal_id, **finding._asdict()) for finding in batch
    )
