from collections.abc import Collection
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from agui_host.teams.models import Team


class RuntimesConfig(AppConfig):
    """Finds agents in apps, adds them to teams with `migrate`, checks new keys' agents."""

    name = "agui_host.runtimes"

    def ready(self) -> None:
        # Models can be imported only now; `file_directory` registers its check.
        from agui_host.runtimes import file_directory, provisioning, registry  # noqa: F401
        from agui_host.teams import permissions
        from agui_host.teams.management.commands import migrate

        registry.autodiscover()
        if provisioning.bring not in migrate.AFTER:
            migrate.AFTER.append(provisioning.bring)
        if existing not in permissions.AGENT_FINDERS:
            permissions.AGENT_FINDERS.append(existing)


def existing(team: "Team", slugs: Collection[str]) -> Collection[str]:
    """Those of the slugs that are agents of the team, including disabled ones."""
    from agui_host.runtimes.models import Agent  # Models can be imported only once apps are loaded.

    if not slugs:
        return ()
    return set(Agent.objects.for_team(team).filter(slug__in=slugs).values_list("slug", flat=True))
