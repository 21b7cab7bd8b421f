from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from teams import (
            account_events,
            openapi,  # noqa: F401  (registers itself with drf-spectacular)
        )

        account_events.connect()
