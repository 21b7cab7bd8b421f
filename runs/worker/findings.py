"""Findings: faults of agents' events, counted."""

from typing import NamedTuple

from django.db.models import Count, Sum

from agui_host.runtimes.models import Agent
from events.models import Finding


class Row(NamedTuple):
    """How often one rule was broken and answered by one action, and in how many runs."""

    rule: str
    action: str
    times: int
    runs: int


def report(agent: Agent) -> list[Row]:
    """The findings in all runs of an agent, by rule and action, the most frequent first."""
    counted = (
        Finding.objects.filter(journal__run__agent=agent)
        .values_list("rule", "action")
        .annotate(total=Sum("times"), runs=Count("journal", distinct=True))
        .order_by("-total", "rule", "action")
    )
    return [Row(*row) for row in counted]
