from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        """Revoke the grants of a person who leaves a team."""
        from runs.access import sharing  # Models can be imported only now.
        from teams import offboarding

        if sharing.withdraw not in offboarding.ENDERS:
            offboarding.ENDERS.append(sharing.withdraw)
