from django.apps import AppConfig

from security import secrets


class DashboardConfig(AppConfig):
    """The pages."""

    name = "dashboard"

    def ready(self) -> None:
        """Let ``rotate_secrets`` find the secrets that allauth stores."""
        from dashboard.account import second_factor  # models can be imported only now

        secrets.ELSEWHERE["second factor"] = second_factor.rotate
