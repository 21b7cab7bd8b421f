from django.apps import AppConfig

from agui_project import secrets


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Let ``rotate_secrets`` find what allauth keeps."""
        from dashboard import second_factor  # models, which are there only now

        secrets.ELSEWHERE["second factor"] = second_factor.rotate
