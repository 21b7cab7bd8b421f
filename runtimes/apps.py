from django.apps import AppConfig


class RuntimesConfig(AppConfig):
    """Finds the agents that installed apps register."""

    name = "runtimes"

    def ready(self) -> None:
        from runtimes import registry

        registry.autodiscover()
