from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "teams"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from teams import (
            audit,
            openapi,  # noqa: F401  (registers itself with drf-spectacular)
        )

        # Every way to sign in ends here: pages, the admin, other identity providers.
        user_logged_in.connect(audit.signed_in, dispatch_uid="teams.audit.signed_in")
