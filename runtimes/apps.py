from django.apps import AppConfig


class RuntimesConfig(AppConfig):
    name = "runtimes"

    def ready(self) -> None:
        from runtimes import registry

        registry.autodiscover()
