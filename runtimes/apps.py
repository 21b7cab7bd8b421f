from django.apps import AppConfig


class RuntimesConfig(AppConfig):
    """Finds the agents that installed apps register, and checks the agents that a key names."""

    name = "runtimes"

    def ready(self) -> None:
        from runtimes import registry, team_agents  # Models can be imported only now.
        from teams.access import api_keys

        registry.autodiscover()
        if team_agents.existing not in api_keys.AGENT_FINDERS:
            api_keys.AGENT_FINDERS.append(team_agents.existing)
