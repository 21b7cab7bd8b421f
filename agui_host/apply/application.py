"""A document made real, in one transaction, or only planned."""

from django.db import transaction

from agui_host.apply.agents import apply_agent
from agui_host.apply.automation import apply_automation
from agui_host.apply.budgets import apply_budgets
from agui_host.apply.changes import Changes
from agui_host.apply.document import Document
from agui_host.apply.teams import apply_team


def planned(document: Document) -> Changes:
    """The changes that the document would make; none is made. Raises HostError."""
    with transaction.atomic():
        changes = applied(document)
        transaction.set_rollback(True)
    return changes


def applied(document: Document) -> Changes:
    """Make the changes in the caller's transaction. Raises HostError, which names the place."""
    changes = Changes()
    for slug, values in document.teams.items():
        team = apply_team(slug, values, changes)
        for name, agent in values.agents.items():
            apply_agent(team, name, agent, changes)
        apply_budgets(team, values, changes)
        apply_automation(team, values, changes)
    return changes
