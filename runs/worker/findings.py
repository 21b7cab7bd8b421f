"""Findings: what was wrong with agents' events, stored beside their logs and counted."""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Sum

from events.models import Finding
from protocol.intake import findings
from runtimes.models import Agent


class Row(NamedTuple):
    """How often one rule was broken and answered by one action, and in how many runs."""

    rule: str
    action: str
    times: int
    runs: int


def store(journal_id: UUID, batch: Iterable[findings.Finding]) -> None:
    """Store findings; runs in the transaction that stores the events they belong to."""
    Finding.objects.bulk_create(
        Finding(journal_id=journal_id, **finding._asdict()) for finding in batch
    )


def report(agent: Agent) -> list[Row]:
    """The findings in all runs of an agent, by rule and action, the most frequent first."""
    counted = (
        Finding.objects.filter(journal__run__agent=agent)
        .values_list("rule", "action")
        .annotate(total=Sum("times"), runs=Count("journal", distinct=True))
        .order_by("-total", "rule", "action")
    )
    return [Row(*row) for row in counted]
