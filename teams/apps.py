from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Registers what notices sign-ins and describes authentication."""

    name = "teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from teams.accounts import events
        from teams.api import openapi  # noqa: F401  (registers itself with drf-spectacular)

        events.connect()
