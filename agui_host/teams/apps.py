from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Registers what notices sign-ins."""

    name = "agui_host.teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agui_host.teams.accounts import events

        events.connect()
