"""Findings as rows next to a log: faults of an agent's events."""

from collections.abc import Iterable
from uuid import UUID

from agui_host.protocol.intake import findings
from events.models import Finding


def store(journal_id: UUID, batch: Iterable[findings.Finding]) -> None:
    """Store findings; runs in the transaction that stores the events they belong to."""
    Finding.objects.bulk_create(
        Finding(journal_id=journal_id, **finding._asdict()) for finding in batch
    )
