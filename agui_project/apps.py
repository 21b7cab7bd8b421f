from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """Registers the project's system checks."""

    name = "agui_project"

    def ready(self) -> None:
        from agui_project import checks  # noqa: F401  (registers the system checks
