from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Registers what notices sign-ins and describes authentication."""

    name = "agui_host.teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agui_host.teams.accounts import events
        from agui_host.teams.api import openapi  # noqa: F401  (registers itself with drf-spectacular)

        events.connect()
