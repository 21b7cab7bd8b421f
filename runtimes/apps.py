from collections.abc import Collection
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from teams.models import Team


class RuntimesConfig(AppConfig):
    """Finds the agents that installed apps register, and those that a new key names."""

    name = "runtimes"

    def ready(self) -> None:
        from runtimes import registry
        from teams import permissions

        registry.autodiscover()
        if existing not in permissions.AGENT_FINDERS:
            permissions.AGENT_FINDERS.append(existing)


def existing(team: "Team", slugs: Collection[str]) -> Collection[str]:
    """Those of the slugs that are agents of the team, including disabled ones."""
    from runtimes.models import Agent  # Models can be imported only once apps are loaded.

    if not slugs:
        return ()
    return set(Agent.objects.for_team(team).filter(slug__in=slugs).values_list("slug", flat=True))
