"""Agents in this host's code, and the rows that teams have for them."""

from django.db.models import Case, F, When

from agui_host.doctor.findings import Fault, check
from agui_host.runtimes import provisioning, registry
from agui_host.runtimes.models import Agent

MOST_NAMES = 5


@check("agents", needs="migrations")
def agents() -> str | list[Fault]:
    """Whether each team that gets the agents in code has all of them, and no other ones."""
    missing = {
        slug: teams for slug in registry.offered() if (teams := provisioning.without(slug).count())
    }
    faults = [
        Fault(
            f"The agent {slug} is in the code, and {teams} teams have no row for it.",
            f"agui-host migrate, or agui-host create-agent --slug {slug} --all-teams",
        )
        for slug, teams in missing.items()
    ]
    gone = (
        Agent.objects.of_any_team()
        .filter(kind="python", enabled=True)
        .annotate(slug_in_code=Case(When(target="", then=F("slug")), default=F("target")))
        .exclude(slug_in_code__in=registry.all())
    )
    rows = gone.order_by().values_list("slug_in_code", "queue").distinct()[:MOST_NAMES]
    faults += [
        Fault(
            f"Teams have the agent {slug} enabled (queue {queue}), and this process has no code"
            " for it.",
            "agui-host migrate disables it; or add its module to AGUI_AGENT_MODULES.",
        )
        for slug, queue in rows
    ]
    return faults or f"{len(registry.offered())} in code"
