from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        """Let whoever leaves a team lose their grants, too."""
        from runs import sharing  # models, which are there only now
        from teams import offboarding

        if sharing.withdraw not in offboarding.ENDERS:
            offboarding.ENDERS.append(sharing.withdraw)
