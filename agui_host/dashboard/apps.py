from django.apps import AppConfig

from agui_host.security import secrets


class DashboardConfig(AppConfig):
    """The pages."""

    name = "agui_host.dashboard"

    def ready(self) -> None:
        """Let ``rotate_secrets`` find the secrets that allauth stores."""
        from agui_host.dashboard.account import second_factor  # models can be imported only now

        secrets.ELSEWHERE["second factor"] = second_factor.rotate
